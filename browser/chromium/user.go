package chromium

import (
	"fmt"
	"os/user"
	"strconv"
	"strings"
)

// account is who Chromium's processes run as.
type account struct {
	name     string
	uid, gid uint32
}

func (a account) String() string { return fmt.Sprintf("%s (uid %d)", a.name, a.uid) }

// defaultAccounts are looked up in this order when browser.run_as is empty.
var defaultAccounts = []string{"browserd", "chromium", "nobody"}

// overflow is the kernel's own nobody (/proc/sys/kernel/overflowuid), for images
// without a user database.
var overflow = account{"nobody", 65534, 65534}

// runAs returns the account that Chromium gets when browserd runs as root.
func runAs(configured string) (account, error) {
	if configured != "" {
		return lookupUser(configured)
	}
	for _, name := range defaultAccounts {
		if a, err := lookupUser(name); err == nil {
			return a, nil
		}
	}
	return overflow, nil
}

// lookupUser reads a user name, a uid, or uid:gid; never root.
func lookupUser(s string) (account, error) {
	a, err := parseUser(s)
	if err == nil && (a.uid == 0 || a.gid == 0) {
		return account{}, fmt.Errorf("%q is root: Chromium does not sandbox root", s)
	}
	return a, err
}

func parseUser(s string) (account, error) {
	if uid, gid, both := strings.Cut(s, ":"); both {
		u, err1 := strconv.ParseUint(uid, 10, 32)
		g, err2 := strconv.ParseUint(gid, 10, 32)
		if err1 != nil || err2 != nil {
			return account{}, fmt.Errorf("%q is not uid:gid", s)
		}
		return account{s, uint32(u), uint32(g)}, nil
	}
	found, err := user.Lookup(s)
	if err != nil {
		if uid, bad := strconv.ParseUint(s, 10, 32); bad == nil {
			if found, err = user.LookupId(s); err != nil {
				// A uid without an entry is usual in containers.
				return account{s, uint32(uid), uint32(uid)}, nil
			}
		}
	}
	if err != nil {
		return account{}, fmt.Errorf("there is no user %q", s)
	}
	uid, err1 := strconv.ParseUint(found.Uid, 10, 32)
	gid, err2 := strconv.ParseUint(found.Gid, 10, 32)
	if err1 != nil || err2 != nil {
		return account{}, fmt.Errorf("user %q has no numeric id on this system", s)
	}
	return account{found.Username, uint32(uid), uint32(gid)}, nil
}
