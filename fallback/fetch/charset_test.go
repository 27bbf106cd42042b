package fetch

import (
	"encoding/json"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"golang.org/x/net/html"
	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding/unicode"

	"github.com/browserd/browserd/internal/untested"
)

// tongues are paragraphs in the languages of the charsets.
var tongues = map[string]string{
	"zh-Hans": "今天的黄金价格比昨天上涨了百分之二，投资者认为这与国际市场的变化有关。专家表示，未来几个月的走势还需要继续观察，普通消费者不必急于购买。",
	"zh-Hant": "今天的黃金價格比昨天上漲了百分之二，投資者認為這與國際市場的變化有關。專家表示，未來幾個月的走勢還需要繼續觀察，普通消費者不必急於購買。",
	"ja":      "今日の天気は晴れのち曇りで、気温は二十度まで上がる見込みです。週末には雨が降るところもあるでしょう。お出かけの際には傘を忘れないようにしてください。カタカナもあります。",
	"ko":      "오늘의 날씨는 대체로 맑겠으며 낮 기온은 이십 도까지 올라갈 것으로 보입니다. 주말에는 비가 오는 곳도 있겠으니 외출하실 때에는 우산을 챙기시기 바랍니다.",
	"ru":      "Сегодня в столице ожидается ясная погода, температура воздуха поднимется до двадцати градусов. В выходные дни возможны дожди, поэтому не забудьте взять с собой зонт, когда будете выходить из дома.",
	"cs":      "Dnes bude v hlavním městě převážně jasno a teplota vzduchu vystoupí až na dvacet stupňů. O víkendu může na některých místech pršet, proto si nezapomeňte vzít deštník, až budete vycházet z domu. Příliš žluťoučký kůň úpěl ďábelské ódy.",
	"pl":      "Dzisiaj w stolicy będzie przeważnie słonecznie, a temperatura powietrza wzrośnie do dwudziestu stopni. W weekend możliwe są opady deszczu, więc nie zapomnijcie wziąć ze sobą parasola, wychodząc z domu. Zażółć gęślą jaźń.",
	"fr":      "Aujourd’hui, le temps sera généralement ensoleillé dans la capitale et la température s’élèvera à vingt degrés. Ce week-end, des averses sont possibles : n’oubliez pas d’emporter un parapluie où que vous alliez, même à côté.",
	"de":      "Heute wird es in der Hauptstadt überwiegend sonnig, und die Temperatur steigt auf zwanzig Grad. Am Wochenende sind Schauer möglich; vergessen Sie nicht, einen Regenschirm mitzunehmen, wenn Sie für längere Zeit außer Haus gehen.",
}

func page(head, text string) string {
	return "<!DOCTYPE html><html><head>" + head + "<title>" + text[:strings.IndexFunc(text, func(r rune) bool { return r == ' ' || r == '，' || r == '、' })] +
		"</title><style>p { color: red }</style></head><body><ul class=\"menu\"><li><a href=\"/one\">" + text + "</a></li></ul><p>" + text + "</p></body></html>"
}

func encoded(t *testing.T, name, s string) []byte {
	t.Helper()
	e, _ := charset.Lookup(name)
	if strings.HasPrefix(name, "utf-16") {
		order := unicode.LittleEndian
		if name == "utf-16be" {
			order = unicode.BigEndian
		}
		b, err := unicode.UTF16(order, unicode.IgnoreBOM).NewEncoder().Bytes([]byte(s))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	b, err := e.NewEncoder().Bytes([]byte(s))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return b
}

func TestTextIsReadWithAndWithoutLabels(t *testing.T) {
	for _, tt := range []struct{ charset, tongue string }{
		{"gbk", "zh-Hans"}, {"gb18030", "zh-Hans"}, {"big5", "zh-Hant"}, {"shift_jis", "ja"}, {"euc-jp", "ja"}, {"iso-2022-jp", "ja"},
		{"euc-kr", "ko"}, {"windows-1251", "ru"}, {"koi8-r", "ru"}, {"iso-8859-2", "cs"}, {"iso-8859-2", "pl"}, {"windows-1252", "fr"}, {"windows-1252", "de"},
		{"utf-8", "zh-Hans"}, {"utf-8", "fr"}, {"utf-16le", "zh-Hans"}, {"utf-16be", "fr"}, {"utf-16le", "ru"}, {"utf-16be", "ja"},
	} {
		text := tongues[tt.tongue]
		late := "<!--" + strings.Repeat("x", 30<<10) + "--><meta http-equiv=Content-Type content='text/html; charset=" + tt.charset + "'>"
		for how, try := range map[string]struct{ head, contentType string }{
			"header":                  {"", "text/html; charset=" + tt.charset},
			"header, quoted, capital": {"", `text/html; charset="` + strings.ToUpper(tt.charset) + `"`},
			"header against meta":     {"<meta charset=koi8-r>", "text/html; charset=" + tt.charset},
			"meta":                    {"<meta charset=" + tt.charset + ">", "text/html"},
			"meta, late":              {late, "text/html"},
			"none":                    {"", "text/html"},
			"no type":                 {"", ""},
			"header that lies":        {"", "text/html; charset=utf-8"},
			"header of nothing":       {"", "text/html; charset=none-such"},
		} {
			want := page(try.head, text)
			body := encoded(t, tt.charset, want)
			if got, name := Text(body, try.contentType); got != want {
				t.Errorf("%s in %s, labelled by %s: read as %s: %.200q", tt.tongue, tt.charset, how, name, got[strings.Index(got, "<p>")+3:])
			}
		}
	}
}

func TestByteOrderMarksWin(t *testing.T) {
	want := page("<meta charset=gbk>", tongues["fr"])
	for name, mark := range map[string]string{"utf-8": "\xEF\xBB\xBF", "utf-16le": "\xFF\xFE", "utf-16be": "\xFE\xFF"} {
		body := append([]byte(mark), encoded(t, name, want)...)
		if got, as := Text(body, "text/html; charset=windows-1251"); got != want || as != name {
			t.Errorf("%s was read as %s", name, as)
		}
	}
}

func TestTextOfSmallAndOddBodies(t *testing.T) {
	for _, tt := range []struct{ body, contentType, text, charset string }{
		{"", "", "", "utf-8"},
		{"plain", "text/plain", "plain", "utf-8"},
		{"caf\xe9", "text/plain", "café", "windows-1252"},
		{"caf\xe9", "text/plain; charset=utf-8", "café", "windows-1252"},
		{"\x80 5", "text/plain; charset=iso-8859-1", "€ 5", "windows-1252"},
		{"a few é è bad ü ö \xff bytes", "text/html; charset=utf-8", "a few é è bad ü ö � bytes", "utf-8"},
		{"cut in the middle of 世\xe7\x95", "text/html", "cut in the middle of 世�", "utf-8"},
		{`<?xml version="1.0" encoding="windows-1251"?><a>` + "\xcf\xf0\xe8</a>", "application/xml", `<?xml version="1.0" encoding="windows-1251"?><a>При</a>`, "windows-1251"},
		{`<meta charset="utf-16">` + "é", "", `<meta charset="utf-16">é`, "utf-8"},
		{`<meta http-equiv="content-type" content="text/html;charset">é`, "", `<meta http-equiv="content-type" content="text/html;charset">é`, "utf-8"},
	} {
		if got, name := Text([]byte(tt.body), tt.contentType); got != tt.text || name != tt.charset {
			t.Errorf("Text(%.60q, %q) = %.60q in %s, want %.60q in %s", tt.body, tt.contentType, got, name, tt.text, tt.charset)
		}
	}
}

// titleRE finds a page's title well enough for those of the cases.
var titleRE = regexp.MustCompile(`(?is)<title[^>]*>(.*?)</title>`)

// The real pages of the cases read as Chromium reads them, with the
// Content-Type that they came with.
func TestRealPagesAreReadAsChromiumReadsThem(t *testing.T) {
	dir := "../../../shared/cases/static"
	raw, err := os.ReadFile(dir + "/index.json")
	if err != nil {
		untested.Skip(t, "the cases are not here: %v", err)
	}
	var index []struct{ ID, File, CType string }
	if err := json.Unmarshal(raw, &index); err != nil {
		t.Fatal(err)
	}
	for _, p := range index {
		var truth struct{ Title string }
		if err := json.Unmarshal(gunzip(t, dir+"/truth/"+p.ID+".json.gz"), &truth); err != nil {
			t.Fatal(err)
		}
		text, name := Text(gunzip(t, dir+"/"+p.File), p.CType)
		title := ""
		if m := titleRE.FindStringSubmatch(text); m != nil {
			title = strings.Join(strings.Fields(html.UnescapeString(m[1])), " ")
		}
		if want := strings.Join(strings.Fields(truth.Title), " "); title != want && want != "" {
			t.Errorf("%s in %s: title %q, want %q", p.ID, name, title, want)
		}
	}
}

func gunzip(t *testing.T, file string) []byte {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
