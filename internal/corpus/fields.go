package corpus

// FieldValue is what the field of each of Fields holds.
const FieldValue = "hunter2xyz"

// Fields are pages with one field, and whether it holds a secret by what its author says
// of it.
var Fields = []struct {
	HTML   string
	Secret bool
}{
	{`<input type=password value=hunter2xyz>`, true},
	{`<input type=PassWord value=hunter2xyz>`, true},
	{`<input aria-label=Word value=hunter2xyz>`, false},

	// The autofill tokens of HTML (4.10.18.7.1).
	{`<input autocomplete=current-password value=hunter2xyz>`, true},
	{`<input autocomplete="section-a billing new-password" value=hunter2xyz>`, true},
	{`<input autocomplete=One-Time-Code value=hunter2xyz>`, true},
	{`<input autocomplete=cc-number value=hunter2xyz>`, true},
	{`<input autocomplete=cc-csc value=hunter2xyz>`, true},
	{`<input autocomplete=cc-exp value=hunter2xyz>`, true},
	{`<textarea autocomplete=current-password>hunter2xyz</textarea>`, true},
	{`<input autocomplete=username value=hunter2xyz>`, false},
	{`<input autocomplete="username webauthn" value=hunter2xyz>`, false},
	{`<input autocomplete=off value=hunter2xyz>`, false},
	{`<input autocomplete=postal-code value=hunter2xyz>`, false},

	{`<input style="-webkit-text-security: disc" value=hunter2xyz>`, true},
	{`<div style="-webkit-text-security: square"><textarea style="-webkit-text-security: inherit">hunter2xyz</textarea></div>`, true},
	{`<input style="-webkit-text-security: none" value=hunter2xyz>`, false},

	// Names.
	{`<input name=password value=hunter2xyz>`, true},
	{`<input id=userPassword value=hunter2xyz>`, true},
	{`<input name="user[password]" value=hunter2xyz>`, true},
	{`<input name=new_passwd_2 value=hunter2xyz>`, true},
	{`<input name=pwd type=tel value=hunter2xyz>`, true},
	{`<input id=PASSCODE value=hunter2xyz>`, true},
	{`<input name=passphrase value=hunter2xyz>`, true},
	{`<input name=otp value=hunter2xyz>`, true},
	{`<input name=totpCode value=hunter2xyz>`, true},
	{`<input id=card_cvv value=hunter2xyz>`, true},
	{`<input name=cvc2 value=hunter2xyz>`, true},
	{`<textarea name=password>hunter2xyz</textarea>`, true},
	{`<input name=password_hint value=hunter2xyz>`, false},
	{`<input name=reset_password_email value=hunter2xyz>`, false},
	{`<input name=passwordless value=hunter2xyz>`, false},
	{`<input name=compass value=hunter2xyz>`, false},
	{`<input name=passport value=hunter2xyz>`, false},
	{`<input name=passenger_name value=hunter2xyz>`, false},
	{`<input name=pin value=hunter2xyz>`, false}, // a postal code in India
	{`<input name=code value=hunter2xyz>`, false},
	{`<input name=token value=hunter2xyz>`, false},
	{`<input name=password type=search value=hunter2xyz>`, false},
	{`<input name=password type=email value=hunter2xyz>`, false},

	// Labels.
	{`<input aria-label="Password" value=hunter2xyz>`, true},
	{`<input placeholder="Enter your new password *" value=hunter2xyz>`, true},
	{`<label>Repeat password: <input value=hunter2xyz></label>`, true},
	{`<label for=i>Passwort</label><input id=i value=hunter2xyz>`, true},
	{`<label for=i>Mot de passe</label><input id=i value=hunter2xyz>`, true},
	{`<input aria-label="Contraseña" value=hunter2xyz>`, true},
	{`<input aria-label="密码" value=hunter2xyz>`, true},
	{`<input aria-label="One-time code" value=hunter2xyz>`, true},
	{`<input aria-label="CVV" value=hunter2xyz>`, true},
	{`<input title="Passphrase" value=hunter2xyz>`, true},
	{`<b id=b>Password</b><input aria-labelledby=b value=hunter2xyz>`, true},
	{`<input aria-label="Password hint" value=hunter2xyz>`, false},
	{`<input aria-label="E-mail for a new password" value=hunter2xyz>`, false},
	{`<input aria-label="Search passwords" value=hunter2xyz>`, false},
	{`<input aria-label="PIN code" value=hunter2xyz>`, false},
	{`<label>Password <input type=checkbox></label><input aria-label=Word value=hunter2xyz>`, false},
	{`<input aria-label="Word" title="Write here what you told us about the password that you have lost, in your own words, please" value=hunter2xyz>`, false},
}
