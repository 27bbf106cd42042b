package e2e_test

import "github.com/browserd/browserd/snapshot"

// inUTF16 is s, which holds no character beyond 16 bits, in UTF-16LE.
func inUTF16(s string) string {
	var b []byte
	for _, r := range s {
		b = append(b, byte(r), byte(r>>8))
	}
	return string(b)
}

type snapshotNode = snapshot.NodeJSON

var formCases = []formCase{
	// Where a form is sent, and how.
	{name: "get", page: form(`action=/to`, `<input name=q aria-label=Query>`), acts: []formStep{fillIn("Query", "a b&c=d+e%20é"), press("Send")}},
	{name: "get replaces the query", page: form(`action="/to?old=1&q=0"`, `<input name=q aria-label=Query value=v>`), acts: []formStep{press("Send")}},
	{name: "get keeps the fragment to itself", page: form(`action="/to?old=1#part"`, `<input name=q value=v>`), acts: []formStep{press("Send")}},
	{name: "get without entries", page: form(`action=/to`, `<input aria-label=Nameless value=v>`), acts: []formStep{press("Send")}},
	{name: "no action", page: form(``, `<input name=q value=v>`), acts: []formStep{press("Send")}},
	{name: "empty action beside a base", page: `<base href=/elsewhere/>` + form(`action="" method=post`, `<input name=q value=v>`), acts: []formStep{press("Send")}},
	{name: "relative action and base", page: `<base href=/elsewhere/deep/>` + form(`action="../to"`, `<input name=q value=v>`), acts: []formStep{press("Send")}},
	{name: "post keeps the query", page: form(`method=post action="/to?kept=1"`, `<input name=q value=v>`), acts: []formStep{press("Send")}},
	{name: "post without entries", page: form(post, ``), acts: []formStep{press("Send")}},
	{name: "method that does not exist", page: form(`method=put action=/to enctype=nonsense`, `<input name=q value=v>`), acts: []formStep{press("Send")}},
	{name: "enctype that does not exist", page: form(post+` enctype=nonsense`, `<input name=q value=v>`), acts: []formStep{press("Send")}},
	{name: "text/plain", page: form(post+` enctype=text/plain`, `<input name="a b" value="c=d &amp; é"><textarea name=t>one
two</textarea>`), acts: []formStep{press("Send")}},
	{name: "text/plain by get is urlencoded", page: form(`action=/to enctype=text/plain`, `<input name=q value="a b">`), acts: []formStep{press("Send")}},

	// What is in the entry list.
	{name: "all bytes of ASCII", page: form(post, `<input name="n !&quot;#$%&amp;'()*+,-./:;<=>?@[\]^_{|}~" value="!&quot;#$%&amp;'()*+,-./:;<=>?@[\]^_{|}~">`), acts: []formStep{press("Send")}},
	{name: "textarea", page: form(post, `<textarea name=t aria-label=Text>
 first
second</textarea>`), acts: []formStep{press("Send")}},
	{name: "textarea typed", page: form(post, `<textarea name=t aria-label=Text>old</textarea>`), acts: []formStep{fillIn("Text", "one\ntwo\r\nthree"), press("Send")}},
	{name: "textarea added to", page: form(post, `<textarea name=t aria-label=Text>old</textarea>`), acts: []formStep{addTo("Text", " and new"), press("Send")}},
	{name: "textarea that wraps hard", page: form(post, `<textarea name=t wrap=hard cols=12 rows=4>a few words that do not fit</textarea>`), acts: []formStep{press("Send")}},
	{name: "textarea that wraps a long word", page: form(post, `<textarea name=t wrap=hard cols=8 rows=4>a verylongword  and   gaps
new line that is long     </textarea>`), acts: []formStep{press("Send")}},
	{name: "controls that cannot be seen", page: form(post, `<div hidden><input name=a value=1></div><input name=b value=2 style="display:none"><select name=c style="visibility:hidden"><option>3<hr><option>4</select><details><summary>More</summary><input name=d value=5></details>`), acts: []formStep{press("Send")}},
	{name: "hidden with line breaks", page: form(post, "<input type=hidden name=h value=\"a&#10;b&#13;c&#13;&#10;d\">"), acts: []formStep{press("Send")}},
	{name: "text with line breaks in the markup", page: form(post, "<input name=h value=\"a&#10;b&#13;c\">"), acts: []formStep{press("Send")}},
	{name: "checkboxes", page: form(post, `<input type=checkbox name=a aria-label=A><input type=checkbox name=b value=yes aria-label=B checked><input type=checkbox name=c value=no aria-label=C><input type=checkbox name=b value=too aria-label=D>`),
		acts: []formStep{tickOn("checkbox", "A"), tickOn("checkbox", "D"), press("Send")}},
	{name: "checkbox unchecked", page: form(post, `<input type=checkbox name=a aria-label=A checked>`), acts: []formStep{{"check", "checkbox", "A", params{"checked": false}}, press("Send")}},
	{name: "radio buttons", page: form(post, `<label><input type=radio name=r value=1 checked>One</label><label><input type=radio name=r value=2>Two</label><label><input type=radio name=s value=3>Three</label>`),
		acts: []formStep{tickOn("radio", "Two"), press("Send")}},
	{name: "several radio buttons checked in the markup", page: form(post, `<input type=radio name=r value=1 checked><input type=radio name=r value=2 checked><input type=radio name=r value=3>`), acts: []formStep{press("Send")}},
	{name: "radio buttons of two forms", page: `<input type=radio name=r value=0 checked form=f><form id=g><input type=radio name=r value=9 checked></form>` + form(post+` id=f`, `<label><input type=radio name=r value=1>One</label>`),
		acts: []formStep{tickOn("radio", "One"), press("Send")}},
	{name: "select", page: form(post, `<select name=s aria-label=S><option>One<option value=2>Two<option value="">None</select>`), acts: []formStep{pick("S", "Two"), press("Send")}},
	{name: "select as it is", page: form(post, `<select name=s><option>  One
  or   more </option><option value=2>Two</select><select name=t><option>A<option selected>B<option selected>C</select>`), acts: []formStep{press("Send")}},
	{name: "select whose first options are disabled", page: form(post, `<select name=s><option disabled>One<optgroup disabled label=G><option>Two</optgroup><option>Three</select><select name=none><option disabled>One</select>`), acts: []formStep{press("Send")}},
	{name: "select with a disabled selected option", page: form(post, `<select name=s><option>One<option disabled selected>Two</select><select name=m multiple><option selected>A<optgroup disabled label=G><option selected>B</optgroup><option selected>C</select>`), acts: []formStep{press("Send")}},
	{name: "select that shows several", page: form(post, `<select name=s size=3><option>One<option>Two</select><select name=e></select>`), acts: []formStep{press("Send")}},
	{name: "select several", page: form(post, `<select name=s multiple aria-label=S><option selected>One<option value=2>Two<option>Three</select>`), acts: []formStep{pick("S", "Three", "Two"), press("Send")}},
	{name: "select none", page: form(post, `<select name=s multiple aria-label=S><option selected>One<option selected value=2>Two<option>Three</select><input name=t value=1>`), acts: []formStep{pick("S", []string{}...), press("Send")}},
	{name: "option with a label", page: form(post, `<select name=s aria-label=S><option>X<option label="Shown" value="">Text</select>`), acts: []formStep{pick("S", "Shown"), press("Send")}},
	{name: "disabled controls", page: form(post, `<input name=a value=1 disabled><input name=b value=2 readonly><select name=c disabled><option>3</select><textarea name=d disabled>4</textarea><input type=hidden name=e value=5 disabled>`), acts: []formStep{press("Send")}},
	{name: "disabled fieldset", page: form(post, `<fieldset disabled><legend><input name=a value=1></legend><legend><input name=b value=2></legend><input name=c value=3><fieldset><legend><input name=d value=4></legend></fieldset></fieldset><input name=e value=5>`), acts: []formStep{press("Send")}},
	{name: "names", page: form(post, `<input name="" value=1><input value=2><input name=isindex value=3><input name=" a " value=4><input name=é value=ü>`), acts: []formStep{press("Send")}},
	{name: "what lists but does not send", page: form(post, `<output name=o>1</output><object name=ob></object><button type=button name=b value=1>B</button><input type=reset name=r><input type=button name=c value=1><input type=image name=i alt=I width=10 height=10><meter name=m value=1></meter>`), acts: []formStep{press("Send")}},
	{name: "datalist and template", page: form(post, `<input name=q list=l value=v><datalist id=l><input name=inlist value=1><option value=a></datalist><template><input name=intemplate value=1></template>`), acts: []formStep{press("Send")}},
	{name: "form attribute", page: `<input name=before value=1 form=f><form id=g></form>` + form(post+` id=f`, `<input name=in value=2><input name=other value=3 form=g><input name=none value=4 form="">`) + `<input name=after value=5 form=f><select name=s form=f><option>6</select>`, acts: []formStep{press("Send")}},
	{name: "form in a table", page: `<table><form method=post action=/to><tr><td><input name=a value=1></td></tr><tr><td><input name=b value=2><button>Send</button></td></tr></form></table>`, acts: []formStep{press("Send")}},
	{name: "_charset_", page: form(post, `<input type=hidden name=_charset_ value=x><input type=hidden name=_CHARSET_><input name=_charset_ value=text>`), acts: []formStep{press("Send")}},
	{name: "dirname", page: form(post, `<input name=a dirname=a.dir value=1><textarea name=b dirname=b.dir dir=rtl>2</textarea><input name=c dirname="" value=3><input type=checkbox name=d dirname=d.dir checked><input type=tel name=e dirname=e.dir value=5>`), acts: []formStep{press("Send")}},
	{name: "dirname of what is typed", page: form(post, `<input name=a dirname=a.dir dir=auto aria-label=A><input name=b dirname=b.dir dir=auto aria-label=B value=x>`), acts: []formStep{fillIn("A", "1 שלום"), press("Send")}},

	// Types of input.
	{name: "typed values", page: form(post, `<input type=search name=s aria-label=S><input type=tel name=t aria-label=T><input type=password name=p aria-label=P value=old><input type=url name=u aria-label=U><input type=email name=e aria-label=E>`),
		acts: []formStep{fillIn("S", "find"), fillIn("T", "+47 1"), fillIn("P", "secret"), fillIn("U", "https://example.com/ä"), fillIn("E", "a@b.c"), press("Send")}},
	{name: "sanitized values", page: form(post, `<input type=url name=u value=" https://a.b "><input type=email name=e value=" a@b.c "><input type=email multiple name=m value="a@b.c , d@e.f"><input type=number name=n value=x1><input type=number name=o value=" 1"><input type=number name=n2 value=1e3><input type=color name=c value=RED1><input type=color name=d value=#ABCDEF><input type=date name=f value=2026-02-30><input type=date name=g value=2024-02-29><input type=time name=h value=25:00><input type=week name=w value=2026-W60><input type=month name=i value=2026-13>`), acts: []formStep{press("Send")}},
	{name: "dates and times", page: form(post, `<input type=date name=a aria-label=A><input type=month name=b aria-label=B><input type=week name=c aria-label=C><input type=time name=d aria-label=D><input type=datetime-local name=e aria-label=E>`),
		acts: []formStep{fillIn("A", "2026-03-31"), fillIn("B", "2026-03"), fillIn("C", "2026-W05"), fillIn("D", "13:45"), fillIn("E", "2026-03-31T13:45"), press("Send")}},
	{name: "numbers, ranges and colours", page: form(post, `<input type=number name=a aria-label=A step=any><input type=range name=b aria-label=B><input type=range name=c min=10 max=20 step=3 aria-label=C><input type=range name=d min=3 max=1><input type=range name=f value=500><input type=range name=g min=0 max=1 step=.1 value=.33><input type=color name=e aria-label=E>`),
		acts: []formStep{fillIn("A", "-1.5e2"), fillIn("B", "30"), fillIn("C", "17"), fillIn("E", "#A1b2C3"), press("Send")}},
	{name: "unknown type", page: form(post, `<input type=nonsense name=a aria-label=A value="x">`), acts: []formStep{fillIn("A", "y"), press("Send")}},
	{name: "maxlength", page: form(post, `<input name=a aria-label=A maxlength=3><textarea name=b aria-label=B maxlength=4>long already</textarea>`), acts: []formStep{fillIn("A", "abcdef"), press("Send")}},

	// Submitters.
	{name: "submitter", page: form(post, `<button name=go value=1>One</button><button name=go value=2>Two</button><input type=submit name=go value=Three>`), acts: []formStep{press("Two")}},
	{name: "submitter in its place", page: form(post, `<input name=a value=1><input type=submit name=go value=Go><input name=b value=2>`), acts: []formStep{press("Go")}},
	{name: "submitter without a value", page: form(post, `<input type=submit name=go aria-label=Go>`), acts: []formStep{press("Go")}},
	{name: "button without a value", page: form(post, `<button name=go type=nonsense>Go</button>`), acts: []formStep{press("Go")}},
	{name: "overrides", page: form(post, `<input name=a value="b c"><button formaction=/other formmethod=get formenctype=text/plain name=x value=y>Get</button>`), acts: []formStep{press("Get")}},
	{name: "overrides of get", page: form(`action=/to`, `<input name=a value="b c"><button formmethod=post formenctype=text/plain name=x value=y>Post</button>`), acts: []formStep{press("Post")}},
	{name: "overrides of get, multipart", page: form(`action=/to`, `<input name=a value="b c"><button formmethod=post formenctype=multipart/form-data name=x value=y>Post</button>`), acts: []formStep{press("Post")}},
	{name: "overrides of multipart", page: form(multipart, `<input name=a value="b c"><button formmethod=get>Get</button>`), acts: []formStep{press("Get")}},
	{name: "override of the encoding", page: form(post, `<input name=a value="b c"><button formenctype=text/plain>Plain</button>`), acts: []formStep{press("Plain")}},
	{name: "empty overrides", page: form(post+` enctype=multipart/form-data`, `<input name=a value="b c"><button formaction="" formenctype="">Here</button>`), acts: []formStep{press("Here")}},
	{name: "submitter outside of the form", page: form(post+` id=f`, `<input name=a value=1>`) + `<button form=f name=out value=2>Out</button>`, acts: []formStep{press("Out")}},
	{name: "image button", page: form(post, `<input name=a value=1><input type=image name=pic alt=Pic width=40 height=20 src=data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7><input type=image alt=Bare width=8 height=8 src=data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7>`), acts: []formStep{press("Pic")}},
	{name: "image button without a name", page: form(post, `<input type=image alt=Bare width=8 height=8 src=data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7>`), acts: []formStep{press("Bare")}},
	{name: "Enter uses the first button", page: form(post, `<input name=a aria-label=A><button name=go value=1>One</button>`), acts: []formStep{fillAndEnter("A", "x")}},
	{name: "Enter without a button", page: `<form action=/to><input name=a aria-label=A><input type=checkbox name=b checked></form>`, acts: []formStep{fillAndEnter("A", "x")}},
	{name: "a click on what is in a button", page: form(post, `<button name=go value=1><b>Bold</b> move</button>`), acts: []formStep{press("Bold move")}},
	{name: "a label that is a button's", page: form(post, `<input type=submit id=go name=go value=Go><input type=checkbox id=c name=c><label for=c>Tick</label>`), acts: []formStep{tickOn("checkbox", "Tick"), press("Go")}},

	{name: "Enter uses an image button", page: form(post, `<input name=a aria-label=A><input type=image name=i alt=I width=9 height=9 src=data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7>`), acts: []formStep{fillAndEnter("A", "x")}},
	{name: "Enter with several fields and a button elsewhere", page: `<form id=f method=post action=/to><input name=a aria-label=A><input name=b value=2></form><button form=f name=go value=1>Go</button>`, acts: []formStep{fillAndEnter("A", "x")}},
	{name: "target of a form", page: form(post+` target=_blank`, `<input name=a value=1>`), acts: []formStep{press("Send")}},
	{name: "target of a button", page: form(post, `<input name=a value=1><button formtarget=elsewhere>There</button>`), acts: []formStep{press("There")}},
	{name: "rel of a form to a new tab", page: form(post+` rel="noreferrer" target=_blank`, `<input name=a value=1>`), acts: []formStep{press("Send")}},
	{name: "rel of a form", page: form(post+` rel="noreferrer"`, `<input name=a value=1>`), acts: []formStep{press("Send")}},

	// Files.
	{name: "multipart", page: form(multipart, `<input name=a value="b&#10;c"><textarea name=t>x
y</textarea><input type=checkbox name=é checked>`), acts: []formStep{press("Send")}},
	{name: "multipart without entries", page: form(multipart, ``), acts: []formStep{press("Send")}},
	{name: "multipart names", page: form(multipart, "<input name='quote&quot;back\\slash' value=1><input name='line&#10;break&#13;' value=2><input name='per%22cent' value=3>"), acts: []formStep{press("Send")}},
	{name: "file", page: form(multipart, `<input type=file name=f aria-label=F><input name=a value=1>`), acts: []formStep{attach("F", "a.txt"), press("Send")}},
	{name: "no file", page: form(multipart, `<input type=file name=f><input type=file name=g multiple>`), acts: []formStep{press("Send")}},
	{name: "several files", page: form(multipart, `<input type=file name=f multiple aria-label=F>`), acts: []formStep{attach("F", "a.png", "b.json", "c.unknownext", "noext", "d.HTML", "e.csv", "f.pdf"), press("Send")}},
	{name: "file names", page: form(multipart, `<input type=file name=f multiple aria-label=F>`), acts: []formStep{attach("F", `qu"ote.txt`, "é 文.txt", "per%cent.txt"), press("Send")}},
	{name: "file by its name alone", page: form(post, `<input type=file name=f aria-label=F><input type=file name=none>`), acts: []formStep{attach("F", "a b.txt"), press("Send")}},
	{name: "file by get", page: form(`action=/to`, `<input type=file name=f aria-label=F>`), acts: []formStep{attach("F", "a.txt"), press("Send")}},
	{name: "file in text/plain", page: form(post+` enctype=text/plain`, `<input type=file name=f aria-label=F>`), acts: []formStep{attach("F", "a.txt"), press("Send")}},

	// Encodings.
	{name: "windows-1252", charset: "windows-1252", page: form(post, "<input name=\xe9 value=\"\xfc \x80 &#x6587; &amp;amp;\"><input type=hidden name=_charset_>"), acts: []formStep{press("Send")}},
	{name: "windows-1252 multipart", charset: "iso-8859-1", page: form(multipart, "<input name=\xe9 value=\"\xfc &#x6587;\"><input type=file name=f aria-label=F>"), acts: []formStep{attach("F", "é文.txt"), press("Send")}},
	{name: "Shift_JIS", charset: "Shift_JIS", page: form(post, `<input name=a aria-label=A><input type=hidden name=_charset_>`), acts: []formStep{fillIn("A", "日本 é ~"), press("Send")}},
	{name: "GBK", charset: "gb2312", page: form(`action=/to`, `<input name=a aria-label=A><input type=hidden name=_charset_>`), acts: []formStep{fillIn("A", "中文 €"), press("Send")}},
	{name: "accept-charset", page: form(post+` accept-charset="nonsense, windows-1251"`, `<input name=a aria-label=A><input type=hidden name=_charset_>`), acts: []formStep{fillIn("A", "да é"), press("Send")}},
	{name: "accept-charset that exists", page: form(post+` accept-charset="nonsense koi8-r utf-8"`, `<input name=a aria-label=A><input type=hidden name=_charset_>`), acts: []formStep{fillIn("A", "да é"), press("Send")}},
	{name: "link of a windows-1252 page", charset: "windows-1252", page: "<a href=\"/\xfc?q=\xfc&amp;w=&#x6587;#\xfc\">Link</a>", acts: []formStep{click1("link", "Link")}},

	{name: "UTF-16", charset: "utf-16le", page: inUTF16(form(`action="/ü?ü"`, `<input name=é value=文><input type=hidden name=_charset_>`)), acts: []formStep{press("Send")}},
	{name: "action of a windows-1252 page", charset: "windows-1252", page: form("method=post action=\"/\xfc b?\xfc c#\xfc\"", `<input name=a value="&#x20ac;&#xfc;">`), acts: []formStep{press("Send")}},
	{name: "accept-charset of two bytes", page: form(post+` accept-charset=utf-16`, `<input name=é value=文><input type=hidden name=_charset_>`), acts: []formStep{press("Send")}},
	{name: "EUC-KR and Big5", page: form(post+` accept-charset=euc-kr`, `<input name=a value="한글 ü"><button form=b>Other</button>`) + form(`id=b method=post action=/to accept-charset=big5`, `<input name=a value="中文 ü">`), acts: []formStep{press("Other")}},
	{name: "Shift_JIS's own", page: form(post+` accept-charset=shift_jis`, `<input name=a value="¥ ‾ − ü 日 ~ \ ～ € 한 ｱ ∥ ￢ ① 髙">`), acts: []formStep{press("Send")}},
	{name: "EUC-JP", page: form(post+` accept-charset=euc-jp`, `<input name=a value="¥ ‾ − ü 日 ~ \ ～ € 한 ｱ ∥ ￢ ① 髙">`), acts: []formStep{press("Send")}},
	{name: "ISO-2022-JP's own", page: form(post+` accept-charset=iso-2022-jp`, `<input name=a value="− ü 日 ~ \ ～ € 한 ｱ ∥ ￢ ① 髙">`), acts: []formStep{press("Send")}},
	{name: "Big5's own", page: form(post+` accept-charset=big5`, `<input name=a value="¥ ‾ − ü 日 ~ \ ～ € 한 ｱ ∥ ￢ ① 髙 ═ 十">`), acts: []formStep{press("Send")}},
	{name: "GBK's own", page: form(post+` accept-charset=gbk`, `<input name=a value="¥ ‾ − ü 日 ~ \ ～ € 한 ｱ ∥ ￢ ① 髙 😀">`), acts: []formStep{press("Send")}},
	{name: "gb18030", page: form(post+` accept-charset=gb18030`, `<input name=a value="¥ ‾ − ü 日 ~ \ ～ € 한 ｱ ∥ ￢ ① 髙 😀">`), acts: []formStep{press("Send")}},
	{name: "EUC-KR's own", page: form(post+` accept-charset=euc-kr`, `<input name=a value="¥ ‾ − ü 日 ~ \ ～ € 한 ｱ ∥ ￢ ① 髙">`), acts: []formStep{press("Send")}},
	{name: "macintosh, koi8-u, windows-874", page: form(post+` accept-charset="macintosh"`, `<input name=a value="Ω € √ ü">`), acts: []formStep{press("Send")}},
	{name: "x-user-defined", page: form(post+` accept-charset=x-user-defined`, `<input name=a value="ü a &#xf780;">`), acts: []formStep{press("Send")}},
	{name: "ISO-2022-JP", page: form(post+` accept-charset=iso-2022-jp`, `<input name=a value="日本 ü a">`), acts: []formStep{press("Send")}},

	// Validation.
	{name: "novalidate", page: form(post+` novalidate`, `<input name=a required><input type=email name=b value=x>`), acts: []formStep{press("Send")}},
	{name: "formnovalidate", page: form(post, `<input name=a required><button formnovalidate>Anyway</button>`), acts: []formStep{press("Anyway")}},
	{name: "valid", page: form(post, `<input name=a required aria-label=A pattern="[a-c]{2}"><input type=number name=n min=1 max=9 step=2 aria-label=N><select name=s required aria-label=S><option value="">Choose<option>x</select><label><input type=checkbox name=c required>C</label>`),
		acts: []formStep{fillIn("A", "ab"), fillIn("N", "7"), pick("S", "x"), tickOn("checkbox", "C"), press("Send")}},

	// Reset, labels, what stays.
	{name: "reset", page: form(post, `<input name=a value=first aria-label=A><input type=checkbox name=b aria-label=B><select name=s aria-label=S><option>1<option>2</select><button type=reset>Reset</button>`),
		acts: []formStep{fillIn("A", "second"), tickOn("checkbox", "B"), pick("S", "2"), press("Reset"), press("Send")}},
	{name: "back to a form that was filled in", page: form(post, `<input name=a aria-label=A>`) + `<a href=/away>Away</a>`, acts: []formStep{fillIn("A", "kept"), click1("link", "Away"), goBack(), press("Send")}},

	// Links.
	{name: "links", page: `<a href="../up/./x?y=1#frag">Link</a>`, acts: []formStep{click1("link", "Link")}},
	{name: "link with a base", page: `<base href="/b/c"><a href=d>Link</a>`, acts: []formStep{click1("link", "Link")}},
	{name: "link that is a query", page: `<a href="?a=b c&amp;d='e'&quot;">Link</a>`, acts: []formStep{click1("link", "Link")}},
	{name: "link with odd characters", page: "<a href=\" /a b\\c|d^e`{f}%2e/%7e/é\t\n?x=%&amp;y=|^`{}é[] \">Link</a>", acts: []formStep{click1("link", "Link")}},
	{name: "link with percent signs", page: "<a href=\"/a?%&amp;%z&amp;100%\">Link</a>", acts: []formStep{click1("link", "Link")}},
	{name: "link with two slashes", page: "<a href=\"//127.0.0.1:PORT//a//b\">Link</a>", acts: []formStep{click1("link", "Link")}},
	{name: "link with dots", page: `<a href="/a/b/%2E%2E/./c/..">Link</a>`, acts: []formStep{click1("link", "Link")}},
	{name: "link without slashes", page: `<a href="http:rel">Link</a>`, acts: []formStep{click1("link", "Link")}},
	{name: "link onwards", page: `<a href=/one/two>Link</a>`, acts: []formStep{click1("link", "Link"), click1("link", "Onwards")}},
	{name: "link to a fragment", page: `<a href=#there>There</a><a href=/on>On</a><h2 id=there>Here</h2>`, acts: []formStep{click1("link", "There"), click1("link", "On")}},

	// Referrers and origins.
	{name: "meta referrer", page: `<meta name=referrer content=no-referrer>` + form(post, `<a href=/on>On</a>`), acts: []formStep{press("Send")}},
	{name: "meta referrer origin", page: `<meta name=referrer content=origin><a href=/on>On</a>`, acts: []formStep{click1("link", "On")}},
	{name: "Referrer-Policy", header: map[string]string{"Referrer-Policy": "nonsense, same-origin"}, page: `<a href=http://localhost:PORT/on>On</a>`, acts: []formStep{click1("link", "On")}},
	{name: "rel noreferrer", page: `<a rel="nofollow noreferrer" href=/on>On</a>`, acts: []formStep{click1("link", "On")}},
	{name: "referrerpolicy", page: `<a referrerpolicy=unsafe-url href=http://localhost:PORT/on>On</a>`, acts: []formStep{click1("link", "On")}},
	{name: "another origin", page: `<a href=http://localhost:PORT/on>On</a>`, acts: []formStep{click1("link", "On")}},
	{name: "a form to another origin", page: form(`method=post action=http://localhost:PORT/on`, `<input name=a value=1>`), acts: []formStep{press("Send")}},
	{name: "a form by same-origin", page: `<meta name=referrer content=same-origin>` + form(`method=post action=http://localhost:PORT/on`, `<input name=a value=1>`), acts: []formStep{press("Send")}},

	// Redirects and cookies.
	{name: "301", page: form(`method=post action="/redirect/301?to=/on"`, `<input name=a value=1>`), acts: []formStep{press("Send")}},
	{name: "302", page: form(`method=post action="/redirect/302?to=/on?x"`, `<input name=a value=1>`), acts: []formStep{press("Send"), click1("link", "Onwards")}},
	{name: "303", page: form(`method=post action="/redirect/303?to=/on"`, `<input name=a value=1>`), acts: []formStep{press("Send")}},
	{name: "307", page: form(`method=post action="/redirect/307?to=/on"`, `<input name=a value=1>`), acts: []formStep{press("Send")}},
	{name: "308 multipart", page: form(`method=post enctype=multipart/form-data action="/redirect/308?to=/on"`, `<input name=a value=1>`), acts: []formStep{press("Send")}},
	{name: "303 to another origin", page: form(`method=post action="/redirect/303?to=http://localhost:PORT/on"`, `<input name=a value=1>`), acts: []formStep{press("Send")}},
	{name: "307 to another origin", page: form(`method=post action="/redirect/307?to=http://localhost:PORT/on"`, `<input name=a value=1>`), acts: []formStep{press("Send")}},
	{name: "307 there and back", page: form(`method=post action="/redirect/307?to=http://localhost:PORT/redirect/307?to=http://127.0.0.1:PORT/on"`, `<input name=a value=1>`), acts: []formStep{press("Send")}},
	{name: "cookies", header: map[string]string{"Set-Cookie": `sid={"a":"b, c"}; Path=/; HttpOnly`}, page: `<a href=/on>On</a>`, acts: []formStep{click1("link", "On")}},
	{name: "cookies of paths", header: map[string]string{"Set-Cookie": `deep="quoted"; Path=/on/`}, page: `<a href=/on/x>On</a>`, acts: []formStep{click1("link", "On"), click1("link", "Onwards")}},
	{name: "refresh", page: `<meta http-equiv=refresh content="0; URL='/refreshed?x=1'"><p>Wait</p>`, acts: []formStep{{"wait", "", "", params{"url": "/refreshed"}}, click1("link", "Onwards")}},
}
