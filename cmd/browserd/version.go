package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/browserd/browserd/protocol"
)

// version is set by the build (-X main.version=v1.2.3); otherwise it is the
// module's, where go install knows it.
var version = ""

func buildVersion() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the versions of browserd, its protocol and Go",
		Example: "  browserd version",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "browserd %s (protocol %d, %s, %s/%s)\n",
				buildVersion(), protocol.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}
