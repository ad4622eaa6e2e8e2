"""Writes surt.tsv: URLs and the keys Python's surt (0.3.1) makes of them. Run with a Python that has it installed.

Both columns escape backslash, tab, line feed, carriage return and bytes that are not printable ASCII as \\xNN, so that
every line is one pair of byte strings. URLs on which Python raises are kept with the key RAISES.
"""
import os
import random
import warnings

warnings.simplefilter("ignore")
import surt

U = []
add = U.append

# Ordinary.
for scheme in ["http", "https", "HTTP", "Https", "ftp", "ws", "rtsp"]:
    for host in ["example.com", "www.example.com", "www2.Example.COM", "a.b.c.example.co.uk", "www.com", "wwww.example.com"]:
        for tail in ["", "/", "/Path/To/File.HTML?B=2&a=1"]:
            add(f"{scheme}://{host}{tail}")
for path in """/ // /// /a /a/ /a// /a//b //a /./a /a/. /a/./b /.. /../ /../a /a/.. /a/../ /a/b/../c /a/b/../../c /a/b/../../../c
/../../a /a/../../b/ /a//../b /a/%2e%2e/b /a/%2E/b /... /a/.../b /.a /..a /a.. /a/..b /a;b=1 /a;jsessionid=123 /a,b /a=b /a@b
/~user/ /%7Euser/ /%7euser /A%20B /a+b /a%2Bb /a%2Fb /a%2fb/ /a%3Fb /a%3fb?c=d /a%23b /a%25b /a%2525b /a%252525b /a%25%32%35
/%41 /%2541 /%25%34%31 /a% /a%2 /a%zz /a%2z /%%41 /%%%41 /%25%25%25 /%E4%BD%A0 /你好 /é /%C3%A9 /%c3%a9 /%E9 /%FF%FE /a%00b /a%0Ab
/a%0D%0Ab /a%09b /%7F /%80 /a"b /a<b>c /a\\b /a\\..\\b /a|b /a{b} /a[b] /a^b /a`b /(a) /'a' /!a /*a /$a /a:b /a&b /a%26b /a%3Db
/index.html /Index.PHP /robots.txt /a.aspx /a/b/c/d/e/f/g/h/i/j/k/l/m""".split():
    add("http://example.com" + path)
    add("http://www.example.com" + path + "?q=" + path)
for query in """? ?a ?a= ?a=1 ?b=2&a=1 ?a=2&a=1 ?a&a= ?a=&a ?& ?&& ?&a ?a& ?a&&b ?= ?== ?=a ?=b&=a ?a=b=c ?a==b ?A=B&a=c ?a-b=1&a=1
?a=1&a-b=1 ?a%3D1 ?a%26b ?b%26a&c ?%61=%62 ?a=%20 ?a=+ ?a+b ?a=%2B ?a=%25 ?a=%2525 ?a=% ?a=%zz ?a=é ?a=%C3%A9 ?a=%E9 ?a=http://b.c/D?e=f
?a=/../b ?a=//b ?a?b ?? ??a ?a=1? ?/ ?a/ ?a=b/ ?a;b ?b;a ?10=1&9=1 ?a=10&a=9 ?a[]=1&a[]=0 ?utm_source=X&id=1 ?_=1 ?#f ?a#f ?a=1#b=2 #f
#a?b #?""".split():
    add("http://example.com/p" + query)
    add("https://example.com" + query)

# Session ids.
S24, S32, L24 = "0123456789abcdefghijklmn", "0123456789ABCDEF0123456789abcdef", "ABCDEFGHIJKLMNOPQRSTUVWX"
for q in [
    f"jsessionid={S32}", f"JSESSIONID={S32}", f"a=1&jsessionid={S32}", f"jsessionid={S32}&a=1", f"b=1&jsessionid={S32}&a=1",
    f"jsessionid={S32}x", f"jsessionid={S32[:-1]}", f"jsessionid={S32}&jsessionid={S32}", f"xjsessionid={S32}&y=1",
    f"jsessionid={S32}&", f"jsessionid={S32}&&a", f"jsessionid={S32}#a", f"jsessionid=jsessionid={S32}",
    f"PHPSESSID={S32}", f"phpsessid={S32}&b=1&a=2", f"b=1&PHPSESSID={S32}", f"phpsessid={S32}&sid={S32}",
    f"sid={S32}", f"a=1&sid={S32}&b=2", f"mysid={S32}&b=2", f"SID={S32}", f"sid=1", f"sid={S32}&sid={S32}",
    f"sid={S32}&jsessionid={S32}&phpsessid={S32}", f"sid=%30{S32[1:]}", f"s%69d={S32}",
    f"ASPSESSIONIDABCDEFGH={L24}", f"aspsessionidabcdefgh={L24}&a=1", f"x=y&ASPSESSIONIDABCDEFGH={L24}&a=1",
    f"ASPSESSIONIDABCDEFG1={L24}", f"ASPSESSIONIDABCDEFGH={L24}X", f"ASPSESSIONIDABCDEFGH={S24}",
    "cfid=1&cftoken=2", "CFID=1&CFTOKEN=2&a=b", "a=b&cfid=1&cftoken=2", "z=b&cfid=1&cftoken=2&y=c", "cfid=&cftoken=2",
    "cfid=1&cftoken=", "cfid=1&a=b&cftoken=2", "cftoken=2&cfid=1", "cfid=cfid=1&cftoken=2", "cfid=1&cftoken=2&cfid=3&cftoken=4",
    "xcfid=1&cftoken=2&x", "cfid=1&cftoken=2&cftoken=3", "id=1&sid=2&pid=3", "cfid=1&cftoken=cfid=2&cftoken=3", "cfid=a?b&cftoken=c/",
]:
    add(f"http://example.com/p?{q}")
    add(f"http://example.com?{q}")
for p in [
    f"/({S24})/a.aspx", f"/({S24})/a.ASPX?b=1", f"/x/({S24})/a/b.aspx", f"/({S24})/a.html", f"/({S24})/.aspx", f"/({S24}x)/a.aspx",
    f"/(S({S24}))/a.aspx", f"/(s({S24}))/a.aspx", f"/(A({S24})S({S24}))/a.aspx", f"/(S({S24})/a.aspx", f"/(SS({S24}))/a.aspx",
    f"/(S({S24}))/({S24})/a.aspx", f"/({S24})/(S({S24}))/a.aspx", f"/({S24})/({S24})/a.aspx", f"/({S24})/a%3Fb.aspx", f"/({S24})/a.aspx/b",
    f"/({S24})//a.aspx", f"/x({S24})/a.aspx", f"/({S24})/a.aspx/({S24})/b", f"/(({S24}))/a.aspx", f"/()/a.aspx", f"/(S({S24[:-1]}))/a.aspx",
    f"/({S24})/a%3F/({S24})/b.aspx%3Fc", f"/({S24})/a.aspx%3F/({S24})/b",
]:
    add("http://example.com" + p)

# Ports and userinfo.
for a in """example.com:80 example.com:443 example.com:8080 example.com:0 example.com:0080 example.com: example.com:: example.com:::80
example.com:65535 example.com:65536 example.com:99999999999999999999 example.com:abc example.com:80a example.com:-1 user@example.com
user:pass@example.com user:pass@example.com:8080 user:@example.com @example.com :@example.com a@b@example.com user:p@ss@www.example.com:80
:80 :8080 @ @: www.example.com:8080 User%40x@example.com example.com%3A80 example.com:8%30""".split():
    for scheme in ["http", "https", "ftp"]:
        add(f"{scheme}://{a}/x")

# Hosts: dots, escapes, addresses, international.
for h in """example.com. .example.com ..example.com example..com example...com example....com . .. ... EXAMPLE.com ex%61mple.com
ex%2561mple.com example%2Ecom example%2Ecom%2E exam%20ple.com example_a.com -example.com exa+mple.com exa*mple.com exa,mple.com exa(m)ple.com
exa$mple.com exa;mple.com exa=mple.com "example".com exa<mple>.com exa|mple.com exa\\mple.com example%00.com example%2Fcom example%3Fcom
example%23com example%zz.com www.. www.www.example.com www.www2.example.com www12345.example.com wwwa.example.com www-2.example.com www1a.example.com
www www1 WWW.example.com w%77w.example.com localhost com co.uk
1.2.3.4 127.0.0.1 192.168.000.001 010.010.010.010 0300.0250.0.1 1.2 1.2.3 1.256 1.65536 1.2.65535 1.2.65536 1.2.3.256 256.1.1.1 1.2.3.4.5
1.2.3.08 0x7f.0.0.1 0x7f000001 2130706433 017700000001 0 00 1 4294967295 4294967296 99999999999 0.0.0.0 255.255.255.255 1.16777215 1.16777216
1..2 1.2.3.4. .1.2.3.4 1.2.3.4a 1.2.3.-4 01.02.03.04 0.1 08.1.1.1 1.2.3.4%20 %31.2.3.4 www.1.2.3.4 1.www.2 3com.com 1e100.net 0400.1.1.1 00.0.0.0377
1.4294967296 1.0100 1.2.0777
[::1] [2001:DB8::1] [::ffff:1.2.3.4] [fe80::1%25eth0] [fe80::1%eth0] [::1 ::1] [] [v1.a] [1.2.3.4] a[::1] [::1]a [FE80::AbCd]
bücher.de BÜCHER.de www.bücher.de b%C3%BCcher.de b%FCcher.de xn--bcher-kva.de XN--BCHER-KVA.de straße.de STRASSE.de STRAẞE.de ☃.net 💩.la 例え.テスト
例え。テスト пример.испытание موقع.وزارة-الاتصالات.مصر אתר.קום aא.com אa.com ｅｘａｍｐｌｅ.com ℡.com ① .com ﬁ.com i❤.ws faß.de βόλος.com نامه‌ای.com
a\u00adb.com \u200b.com é..com é.. .é é xn--é.com Ⅷ.com İ.com K.com \ue000.com \u202e.com 㐀.com ªº.com ʼn.com ǆ.com ΐ.com ﬓ.com ẛ.com ͅ.com
\U0001f1e9\U0001f1ea.com é\uff0ecom é\uff61com é%2Ecom é%00.com é\u3000.com é\u0340.com""".split():
    add(f"http://{h}/")
add("http://" + "ü" * 55 + ".de/")
add("http://" + "ü" * 56 + ".de/")
add("http://" + "ü" * 80 + ".de/")
add("http://" + "a" * 64 + "ü.de/")
add("http://" + "a" * 64 + ".de/")
add("http://" + "a" * 64 + ".ü.de/")
for u in ["http://[::1]:80/", "http://[::1]:8080/a", "https://[2001:db8::1]:443/", "http://[::1]:/", "http://u@[::1]:81/", "http://[::1]:x/"]:
    add(u)

# No scheme, doubled schemes, schemes without authority.
for u in """example.com www.example.com/a example.com:8080/a example.com:80 //example.com/a ///example.com/a /a/b ?a=b #f
http://http://example.com/ http://https://example.com/ https://http://http://example.com:443/ http://HTTP://example.com/ http://https/example.com
http://http:example.com http:example.com/a http:/example.com/a http:///example.com/a http://////example.com/a http: http:// http:/// http:? http://?
http://?a=b http://#f http://:80/example.com/a http:?a=b HTTP:example.com/a https:example.com:8080/a httpx:example.com/a http+a:example.com/a Http:///a
http:///%2F/a http:a@b/c ftp:/a/b ftp:a ftp:///a ftp://example.com:21/a ftp://FTP.example.com/A/ gopher://example.com/1
dns:www.Example.com dns:example.com dns://8.8.8.8/www.example.com dns://www.example.com/ DNS:Example.com dns:
filedesc:a filedesc://a.arc filedesc://A.arc.gz?B filedescX warcinfo:a warcinfo:/A/B?c=D#e urn:uuid:5B9E1E0E-8D4A-4F38 urn:X:%41?=b urn:a/../b urn: urn:?a=b
URN:ISBN:0451450523 urn:a/ urn:/ urn:// urn:///a/../b
mailto:Someone@Example.com?Subject=Hi&Body=A mailto: data:text/plain,Hello%20World data:text/html;base64,PGI+Zm9v data:,a#b javascript:void(0) JavaScript:alert('A')
about:blank tel:+1-800-555 file:///C:/Windows/A.txt file://host/A file:a magnet:?xt=urn:btih:ABC&dn=x metadata://gnu.org/a screenshot:http://Example.com/A
view-source:http://example.com/ whois://whois.iana.org/example.com whois:example.com news:comp.lang.python ldap://[2001:db8::7]/c=GB?objectClass?one
text:http://example.com/ urn:view:http://example.com/A?b=2&a=1 1http://example.com/ a1+-.://example.com/ -a://example.com/ é://example.com/ http;//example.com
http//example.com http:\\\\example.com\\a http:/\\example.com chrome-extension://abc/D.html blob:https://example.com/A-B ws://example.com:80/ wss://example.com:443/
rsync://rsync.example.com/A/B s3://Bucket/Key.TXT x-wais:A""".split():
    add(u)

# Found by random comparison: a query that vanishes with its slash, and host names beyond Unicode 3.2.
for u in ["http://?cfid=1&cftoken=2", "urn:?cfid=1&cftoken=2", "urn:a?cfid=1&cftoken=2", "http://\u1d34.com/", "http://\u13e3.com/", "http://\u10bd.com/",
          "http://\ufa6d.com/", "http://\U0001f14a.com/", "http://\u58d7\u08a1.com/", "http://\U000109db\u06aa.com/", "http://\u1f6a\U00010eae\u01d6.com/",
          "http://\u2090\u20dc.com/", "http://\u07b5\u0273.com/"]:
    add(u)

# Blanks, breaks, controls.
for u in ["  http://example.com/a  ", "http://exa\nmple.com/a\r\nb\tc", "\thttp://example.com/", "http://example.com/a b", "http://example.com/ a /",
          "http://example.com/a?b c=d e", "http://example.com/\x00", "http://example.com/\x0b", "http://example.com/a\x0b", "\x0chttp://example.com/",
          "http:// example.com/", "http://example.com /", "http://example.com /a", "http://example.com: 80/", "http://exa mple.com/", "hello world", "a b:c", "-", ".",
          "/", "?", "#", ":", "::", ":a", "a:", "%", "%41", "&", "=", "http://a", "x", "\\", "http://example.com/a\u2028b", "http://example.com/\u00a0",
          "\u00a0http://example.com/", "", " ", "\n", "filedesc://a b", "http://example.com/a#\n?b", "http://example.com/?\n", "h\nttp://example.com/", "http\n://a.b/"]:
    add(u)

# Long.
add("http://example.com/" + "a" * 5000)
add("http://example.com/" + "a/" * 2000 + "../" * 500)
add("http://example.com/?" + "&".join(f"k{i % 37}={i}" for i in range(600)))
add("http://" + "a." * 200 + "com/")
add("http://example.com/%" + "25" * 1000 + "41")
add("http://example.com/" + "%C3%A9" * 500)

# Seeded scraps: parts at random, to find what nobody thought of.
random.seed(20240229)
PARTS = ["http", "https", "://", ":", "//", "/", "/", "?", "#", "@", "[", "]", ".", "..", "www.", "www3.", "example", "com", ".com", "a", "B", "1", "80",
         "255", "08", "%", "%25", "%2", "%2F", "%3f", "%23", "%41", "%c3%a9", "é", "ü.", "&", "=", "a=1", "&&", " ", "+", "(", ")", ",", ";", "\\", "\t", "-"]
for n in range(600):
    scraps = "".join(random.choice(PARTS) for _ in range(random.randint(1, 9)))
    add(scraps if n % 3 == 0 else "http://" + scraps if n % 3 == 1 else "http://example.com/" + scraps)


def spell(data):
    return "".join(chr(b) if 32 <= b < 127 and b != 92 else "\\x%02x" % b for b in data)


rows = {}
for url in U:
    data = url.encode("utf-8")
    try:
        rows[data] = spell(surt.surt(data))
    except Exception:
        rows[data] = "RAISES"
for data in [b"http://ex\xe9mple.com/", b"http://example.com/\xe9?\xff=\xfe", b"http://\xff.com/", b"http://a\xc3.com/", b"http://\xff/", b"\xe9", b"urn:\xff",
             b"http://\xf0\x9f\x92.com/", b"http://a\xed\xa0\x80b.com/", b"http://\xc3\xa9\xc0\xaf\xe2\x82.com/", b"http://\xff..a.com/", b"http://\xff" + b"a" * 64 + b".com/"]:
    try:
        rows[data] = spell(surt.surt(data))
    except Exception:
        rows[data] = "RAISES"
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "surt.tsv"), "w") as out:
    for data, key in rows.items():
        out.write(spell(data) + "\t" + key + "\n")
print(len(rows), "rows,", sum(key == "RAISES" for key in rows.values()), "raise")
