package protocol

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// ProofPath is where a daemon proves to a client that it knows the client's token,
// before the client sends it.
const ProofPath = "/proof"

// Proof is a daemon's answer at ProofPath.
type Proof struct {
	// Nonce is the daemon's own, 64 hexadecimal digits.
	Nonce string `json:"nonce"`
	// Proofs holds one ProofOf for each token that the daemon accepts, sorted.
	Proofs []string `json:"proofs"`
}

// ProofOf returns what proves that somebody knows a token, of which digest is the SHA-256:
// HMAC-SHA256 in hexadecimal, over the address that the client dialled (the request's
// Host) and both nonces. With the address in it, whoever listens elsewhere cannot pass
// on what the daemon answers.
func ProofOf(digest [sha256.Size]byte, host, clientNonce, daemonNonce string) string {
	m := hmac.New(sha256.New, digest[:])
	m.Write([]byte(strings.Join([]string{"browserd proof 1", strings.ToLower(host), clientNonce, daemonNonce}, "\n")))
	return hex.EncodeToString(m.Sum(nil))
}
