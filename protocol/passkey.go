package protocol

// Passkey is a credential of WebAuthn, with its private key.
type Passkey struct {
	ID              string `json:"id"`    // the credential's id, Base64 without padding for URLs
	RPID            string `json:"rp_id"` // the relying party: a host, to which its documents and subdomains belong
	UserName        string `json:"user_name,omitempty"`
	UserDisplayName string `json:"user_display_name,omitempty"`
	UserHandle      []byte `json:"user_handle,omitempty"`
	PrivateKey      []byte `json:"private_key"` // PKCS#8
	SignCount       int64  `json:"sign_count"`
	Resident        bool   `json:"resident"` // found without its id
	BackupEligible  bool   `json:"backup_eligible,omitempty"`
	BackedUp        bool   `json:"backed_up,omitempty"`
}

// PasskeyUse says that a page has made or used a passkey; it is as it is afterwards.
type PasskeyUse struct {
	Made bool
	Passkey
}
