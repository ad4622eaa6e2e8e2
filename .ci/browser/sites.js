// Two sites that use each feature replay has to carry, a page per feature. `reads` runs in the replayed page when its
// `window.result` is set (where it has a script) or it has loaded, and must give `gives`; `loads` are requests the archive must have answered well.
// Pictures have the width of their name, so that a width says which one was loaded. Nothing of live.example is archived.

const WIDE = // a font whose only letter, A, is three times as wide as high
    'd09GRgABAAAAAAIgAAoAAAAAAjgAAQAAAAAAAAAAAAAAAAAAAAAAAAAAAABPUy8yAAABYAAAACoAAABgRSBJ32NtYXAAAAGUAAAAKQAAADQADACUZ2x5ZgAAAcgAAAAYAAAAGCgbRQBoZWFkAAAA9AAAADYAAAA2OQ7HKGhoZWEAAAEsAAAAHAAAACQPPgtXaG10eAAAAYwAAAAIAAAACA2sAABsb2NhAAABwAAAAAYAAAAGAAwAAG1heHAAAAFIAAAAFgAAACAABAAGbmFtZQAAAeAAAAA0AAAANAI0CoJwb3N0AAACFAAAAAwAAAAgAAMAAAABAAAAAQAAGonES18PPPUAAwPoAAAAAOcgQWIAAAAA5yBBYgAAAAALuAOEAAAAAwACAAAAAAAAeJxjYGRgYG75P4eBgXsHAwOYZGRABUwAYd4DrXicY2BkYGBgYmBhANEgFhoAAAESAAsAAHicY2Bmu8Y4gYGVgYWBMGBE5tgDAZByZHBkbgHxgWQKmnoFBgYA3JMEiwAAAfQAAAu4AAB4nGNgYGBiYGBgBmIRIMkIplkYFIA0CxCC+I7//0PI/wfAfAYAUpcGnQAAAAAAAAAADAAAAAEAAAAAC7gDhAADAAAxESERC7gDhPx8AAAAAgAeAAMAAQQJAAEACAAAAAMAAQQJAAIADgAIAFcAaQBkAGUAUgBlAGcAdQBsAGEAcnicY2BmwAsAAH0ABA==';

const SVG = 'image/svg+xml';
const JS = 'text/javascript';
const picture = width =>
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="10"><rect width="${width}" height="10" fill="teal"/></svg>`;
const page = (title, body, head = '') =>
    `<!doctype html><html><head><meta charset="utf-8"><title>${title}</title>${head}</head><body>${body}</body></html>`;
/** A page whose script ends in a result. */
const scripted = (title, code, body = '') =>
    page(
        title,
        `${body}<script>(async () => { ${code} })().then(value => { window.result = [value]; }, error => { window.result = ['threw ' + error]; });</script>`,
    );

// Mono, 8 bits, 8,000 a second: three seconds of nearly nothing.
function wav(seconds) {
    const data = Buffer.alloc(8000 * seconds, 128);
    const head = Buffer.alloc(44);
    head.write('RIFF', 0);
    head.writeUInt32LE(36 + data.length, 4);
    head.write('WAVEfmt ', 8);
    head.writeUInt32LE(16, 16);
    head.writeUInt16LE(1, 20);
    head.writeUInt16LE(1, 22);
    head.writeUInt32LE(8000, 24);
    head.writeUInt32LE(8000, 28);
    head.writeUInt16LE(1, 32);
    head.writeUInt16LE(8, 34);
    head.write('data', 36);
    head.writeUInt32LE(data.length, 40);
    return Buffer.concat([head, data]);
}

const cyrillic = text =>
    Buffer.from([...text].map(c => (c >= 'А' && c <= 'я' ? c.charCodeAt(0) - 0x410 + 0xc0 : c.charCodeAt(0))));

/** What the pages need beyond themselves. */
const FILES = {
    'http://site.example/target.html': page('target', '<h1>The target</h1>'),
    'http://site.example/found.html?q=two+words&more=%D1%84': page('found', '<h1>Found two words</h1>'),
    'http://site.example/old.html': { status: 302, headers: { location: '/target.html' } },
    'http://other.example/': page(
        'other',
        '<h1>Another site</h1><a id="back" href="http://site.example/target.html">back</a>',
    ),
    'http://site.example/style/main.css': {
        type: 'text/css',
        body: `@import "parts/deep.css"; @import url(http://cdn.example/far.css) screen;
            @font-face { font-family: Wide; src: url('/wide.woff') format("woff"), url(//live.example/wide.woff); }
            #one { background: url(../img/41.svg) }
            #four { background: image-set(url("/img/42.svg") 1x, url(http://live.example/2x.png) 2x) }`,
    },
    'http://site.example/style/parts/deep.css': {
        type: 'text/css',
        body: '#two { color: rgb(1, 2, 3); background: url("../../img/43.svg") }',
    },
    'http://cdn.example/far.css': { type: 'text/css', body: '#three { color: rgb(4, 5, 6) }' },
    'http://site.example/wide.woff': { type: 'font/woff', body: Buffer.from(WIDE, 'base64') },
    'http://site.example/data.json': { type: 'application/json', body: '{"says":"root"}' },
    'http://site.example/deep/data.json': { type: 'application/json', body: '{"says":"deep"}' },
    'http://cdn.example/data.json': {
        type: 'application/json',
        body: '{"says":"cdn"}',
        headers: { 'access-control-allow-origin': '*', 'x-made-by': 'hand' },
    },
    'http://cdn.example/classic.js': { type: JS, body: `window.classic = 'ran';` },
    'http://site.example/written.js': { type: JS, body: `document.write('<i id="inner">inner</i>');` },
    'http://site.example/m/main.js': {
        type: JS,
        body: `import { a } from '/m/a.js';
            import * as b from "http://cdn.example/m/b.js";
            export { c } from './c.js';
            const d = await import('http://site.example/m/d.js');
            window.result = [[a, b.default, d.d, new URL('x', import.meta.url).pathname.endsWith('/m/x')]];`,
    },
    'http://site.example/m/a.js': { type: JS, body: `export const a = 'a';` },
    'http://site.example/m/c.js': { type: JS, body: `export const c = 'c';` },
    'http://site.example/m/d.js': { type: JS, body: `export const d = 'd';` },
    'http://cdn.example/m/b.js': {
        type: JS,
        body: `import { own } from '/m/own.js'; export default 'b' + own;`,
        headers: { 'access-control-allow-origin': '*' },
    },
    'http://cdn.example/m/own.js': {
        type: JS,
        body: `export const own = ' with its own';`,
        headers: { 'access-control-allow-origin': '*' },
    },
    'http://site.example/w/worker.js': {
        type: JS,
        body: `importScripts('part.js', 'http://cdn.example/part.js');
            fetch('/data.json').then(answer => answer.json()).then(data => postMessage([part, far, data.says]), error => postMessage(String(error)));`,
    },
    'http://site.example/w/part.js': { type: JS, body: `const part = 'part';` },
    'http://cdn.example/part.js': { type: JS, body: `const far = 'far';` },
    'http://site.example/w/module.js': {
        type: JS,
        body: `import { a } from '/m/a.js'; postMessage('module ' + a);`,
    },
    'http://site.example/sprite.svg': {
        type: SVG,
        body: '<svg xmlns="http://www.w3.org/2000/svg"><symbol id="dot"><circle r="5"/></symbol></svg>',
    },
    'http://site.example/drawing.svg': {
        type: SVG,
        body: `<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="100" height="50"><style>@import "http://live.example/x.css"; rect { fill: rgb(7, 8, 9) }</style><rect width="10" height="10"/><image id="i" xlink:href="/img/51.svg" width="51" height="10"/><a xlink:href="http://site.example/target.html"><text id="t" y="40">to the target</text></a></svg>`,
    },
    'http://site.example/inner.html': page('inner', '<p id="x">in a frame</p><img src="img/61.svg">'),
    'http://site.example/tone.wav': { type: 'audio/wav', body: wav(3), headers: { 'accept-ranges': 'bytes' } },
};
for (const width of [10, 20, 41, 42, 43, 44, 51, 52, 53, 61, 62, 63, 71, 72, 73, 74, 75, 81, 82, 91]) {
    FILES[`http://site.example/img/${width}.svg`] = { type: SVG, body: picture(width) };
}
for (const width of [21, 30, 76]) {
    FILES[`http://cdn.example/img/${width}.svg`] = { type: SVG, body: picture(width) };
}

export const PAGES = [
    {
        path: 'pictures.html',
        about: 'srcset, picture, lazy and data URLs',
        body: page(
            'pictures',
            `<img id="a" src="http://live.example/never.png" srcset="img/10.svg 1x, http://live.example/big.png 3x">
            <picture><source srcset="http://cdn.example/img/21.svg 100w, http://live.example/big.png 9000w" sizes="100px"><img id="b" src="/img/20.svg"></picture>
            <img id="c" src="data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAA=" alt="">`,
        ),
        reads: () =>
            ['a', 'b', 'c'].map(
                id =>
                    document.getElementById(id).naturalWidth > 1 &&
                    document.getElementById(id).currentSrc.split('/').pop(),
            ),
        gives: ['10.svg', '21.svg', false],
    },
    {
        path: 'base.html',
        about: 'a base element',
        body: page(
            'base',
            '<img id="a" src="30.svg"><a id="b" href="../x">x</a>',
            '<base href="http://cdn.example/img/">',
        ),
        reads: () => [document.getElementById('a').naturalWidth, document.getElementById('b').href],
        gives: [30, 'http://cdn.example/x'],
    },
    {
        path: 'refresh.html',
        about: 'a meta refresh',
        body: page('refresh', 'wait', `<meta http-equiv="refresh" content="0; URL='http://site.example/target.html'">`),
        arrives: 'http://site.example/target.html',
        reads: () => document.querySelector('h1').textContent,
        gives: 'The target',
    },
    {
        path: 'styles.html',
        about: 'inline styles, imports, pictures and fonts of style sheets',
        body: page(
            'styles',
            `<p id="one">1</p><p id="two">2</p><p id="three">3</p><p id="four">4</p>
            <p id="five" style="background: url(&quot;/img/44.svg&quot;), url('http://live.example/no.png')">5</p>
            <span id="wide" style="font: 20px Wide">A</span><p id="six">6</p>`,
            `<link rel="stylesheet" href="/style/main.css" integrity="sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="><style>#six { color: rgb(9, 9, 9) } @import url("http://live.example/late.css");</style>`,
        ),
        waits: () => document.fonts.ready.then(() => document.fonts.check('20px Wide')),
        reads: () => [
            ...['two', 'three', 'six'].map(id => getComputedStyle(document.getElementById(id)).color),
            document.getElementById('wide').getBoundingClientRect().width,
        ],
        gives: ['rgb(1, 2, 3)', 'rgb(4, 5, 6)', 'rgb(9, 9, 9)', 60],
        loads: [41, 42, 43, 44]
            .map(width => `http://site.example/img/${width}.svg`)
            .concat('http://site.example/wide.woff'),
    },
    {
        path: 'frames.html',
        about: 'frames, srcdoc, objects',
        body: page(
            'frames',
            `<iframe id="a" src="/inner.html"></iframe>
            <iframe id="b" srcdoc="<p id=x>in a srcdoc</p><img id=y src='/img/62.svg'><img src='http://live.example/z.png'>"></iframe>
            <embed id="c" type="image/svg+xml" src="img/63.svg">`,
        ),
        frames: ['in a frame', 'in a srcdoc'],
        loads: [61, 62, 63].map(width => `http://site.example/img/${width}.svg`),
    },
    {
        path: 'fetches.html',
        about: 'fetch and XMLHttpRequest',
        body: scripted(
            'fetches',
            `const says = [];
            for (const url of ['/data.json', 'deep/data.json', 'http://cdn.example/data.json', new Request('data.json')]) {
                const answer = await fetch(url);
                says.push((await answer.json()).says);
            }
            const xhr = new XMLHttpRequest();
            xhr.open('GET', 'http://cdn.example/data.json');
            await new Promise(done => { xhr.onloadend = done; xhr.send(); });
            says.push(xhr.responseURL, xhr.status, xhr.getResponseHeader('x-made-by'));
            const missing = await fetch('http://live.example/api').then(answer => answer.status, () => 'refused');
            return [...says, missing];`,
        ),
        gives: ['root', 'deep', 'cdn', 'root', 'http://cdn.example/data.json', 200, 'hand', 404],
    },
    {
        path: 'history.html',
        about: 'history, and what is relative to it',
        body: scripted(
            'history',
            `history.pushState({ n: 1 }, '', '/deep/state?x=1');
            const one = await (await fetch('data.json')).json();
            history.replaceState({ n: 2 }, '', 'http://site.example/deep/other#part');
            let refused;
            try { history.pushState(null, '', 'http://live.example/'); } catch (error) { refused = error.name; }
            return [one.says, history.state.n, document.URL, document.baseURI, refused];`,
        ),
        gives: [
            'deep',
            2,
            'http://site.example/deep/other#part',
            'http://site.example/deep/other#part',
            'SecurityError',
        ],
        address: 'http://site.example/deep/other',
    },
    {
        path: 'dynamic.html',
        about: 'elements that scripts make',
        body: scripted(
            'dynamic',
            `const loaded = element => new Promise((done, failed) => { element.onload = () => done(element); element.onerror = () => failed('not loaded: ' + element.outerHTML); });
            const widths = [];
            const image = new Image(); image.src = '/img/71.svg'; widths.push((await loaded(image)).naturalWidth);
            const made = document.createElement('img'); made.setAttribute('src', 'http://site.example/img/72.svg'); widths.push((await loaded(made)).naturalWidth);
            document.getElementById('box').innerHTML = '<img src="img/73.svg">'; widths.push((await loaded(box.firstChild)).naturalWidth);
            box.insertAdjacentHTML('beforeend', '<img id=last srcset="//site.example/img/74.svg 1x">'); widths.push((await loaded(last)).naturalWidth);
            const clone = image.cloneNode(); clone.src = 'http://cdn.example/img/76.svg'; widths.push((await loaded(clone)).naturalWidth);
            const style = document.createElement('link'); style.rel = 'stylesheet'; style.href = 'http://cdn.example/far.css'; document.head.append(style); await loaded(style);
            const script = document.createElement('script'); script.src = 'http://cdn.example/classic.js'; document.head.append(script); await loaded(script);
            const frame = document.createElement('iframe'); frame.src = '/inner.html'; document.body.append(frame); await loaded(frame);
            const gone = new Image(); gone.src = 'http://live.example/gone.png';
            const went = await loaded(gone).then(() => 'came', () => 'did not come');
            document.getElementById('box').style.backgroundImage = 'url(/img/75.svg)';
            return [...widths, getComputedStyle(three).color, classic, went, image.src, script.src, frame.src];`,
            '<div id="box"></div><p id="three">3</p>',
        ),
        gives: [
            71,
            72,
            73,
            74,
            76,
            'rgb(4, 5, 6)',
            'ran',
            'did not come',
            'http://site.example/img/71.svg',
            'http://cdn.example/classic.js',
            'http://site.example/inner.html',
        ],
        loads: ['http://site.example/img/75.svg', 'http://site.example/img/61.svg'],
    },
    {
        path: 'written.html',
        about: 'document.write',
        body: page(
            'written',
            `<script>document.write('<img id="w" src="/img/81.svg"><scr' + 'ipt src="http://site.example/written.js"></scr' + 'ipt><a id="l" href="/target.html">t</a>');</script><p id="end">end</p>`,
        ),
        reads: () => [
            w.naturalWidth,
            inner.textContent,
            inner.compareDocumentPosition(end) === Node.DOCUMENT_POSITION_FOLLOWING,
            l.href,
        ],
        gives: [81, 'inner', true, 'http://site.example/target.html'],
    },
    {
        path: 'modules.html',
        about: 'modules with absolute imports',
        body: page(
            'modules',
            '<script type="module" src="/m/main.js"></script><script nomodule src="http://live.example/old.js"></script>',
        ),
        waits: () => window.result,
        reads: () => window.result[0],
        gives: ['a', 'b with its own', 'd', true],
    },
    {
        path: 'importmap.html',
        about: 'an import map and an inline module',
        body: page(
            'import map',
            `<script type="importmap">{ "imports": { "a": "http://site.example/m/a.js", "m/": "/m/" } }</script>
            <script type="module">import { a } from 'a'; import { c } from 'm/c.js'; window.result = [[a, c]];</script>`,
        ),
        waits: () => window.result,
        reads: () => window.result[0],
        gives: ['a', 'c'],
    },
    {
        path: 'workers.html',
        about: 'workers',
        body: scripted(
            'workers',
            `const heard = worker => new Promise((done, failed) => { worker.onmessage = event => done(event.data); worker.onerror = event => failed('worker: ' + event.message); });
            return [await heard(new Worker('/w/worker.js')), await heard(new Worker('http://site.example/w/module.js', { type: 'module' })).catch(String),
                await heard(new Worker(URL.createObjectURL(new Blob(["fetch('http://site.example/data.json').then(a => a.json()).then(d => postMessage(d.says))"]))))];`,
        ),
        gives: [['part', 'far', 'root'], 'module a', 'root'],
    },
    {
        path: 'svg.html',
        about: 'SVG in a page',
        body: page(
            'svg',
            `<svg width="200" height="100" xmlns:xlink="http://www.w3.org/1999/xlink"><image id="i" href="/img/52.svg" width="52" height="10"/><image xlink:href="img/53.svg" width="53" height="10"/>
            <use id="u" href="/sprite.svg#dot" x="50" y="50"/><a id="l" xlink:href="/target.html"><text y="80">to the target</text></a><image href="http://live.example/s.png"/></svg>`,
        ),
        reads: () => [i.getBBox().width, u.getBBox().width],
        gives: [52, 10],
        givesOpaque: [52, 0], // no browser takes a symbol from another origin, and there everything is another
        loads: [52, 53].map(width => `http://site.example/img/${width}.svg`),
        clicks: '#l text',
    },
    {
        path: 'drawing.svg',
        about: 'an SVG as a page',
        reads: () => getComputedStyle(document.querySelector('rect')).fill,
        gives: 'rgb(7, 8, 9)',
        loads: ['http://site.example/img/51.svg'],
        clicks: '#t',
    },
    {
        path: 'strict.xhtml',
        about: 'XHTML',
        type: 'application/xhtml+xml',
        body: `<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN" "http://www.w3.org/TR/xhtml1/DTD/xhtml1-strict.dtd">
<html xmlns="http://www.w3.org/1999/xhtml"><head><title>strict</title><script type="text/javascript">//<![CDATA[
window.result = [1 < 2 && document.contentType];
//]]></script></head><body><p><img id="a" src="/img/91.svg" alt="" /><br/><a id="b" href="/target.html">t</a> &nbsp;</p></body></html>`,
        reads: () => [
            window.result[0],
            document.getElementById('a').naturalWidth,
            document.querySelectorAll('br').length,
        ],
        gives: ['application/xhtml+xml', 91, 1],
        clicks: '#b',
    },
    {
        path: 'cyrillic.html',
        about: 'windows-1251, told by the header',
        type: 'text/html; charset=windows-1251',
        body: cyrillic(
            '<!doctype html><title>Привет</title><p id="a">Здравствуй, мир</p><a id="b" href="/target.html">дальше</a>',
        ),
        reads: () => [document.characterSet, document.title, a.textContent, b.textContent],
        gives: ['windows-1251', 'Привет', 'Здравствуй, мир', 'дальше'],
        clicks: '#b',
    },
    {
        path: 'cyrillic-meta.html',
        about: 'windows-1251, told by the page',
        type: 'text/html',
        body: cyrillic(
            '<!doctype html><html><head><meta charset="windows-1251"><title>Привет</title></head><body><p id="a">Здравствуй, мир</p></body></html>',
        ),
        reads: () => [document.characterSet, document.title, a.textContent],
        gives: ['windows-1251', 'Привет', 'Здравствуй, мир'],
    },
    {
        path: 'storage.html',
        about: 'storage and cookies of its own',
        body: scripted(
            'storage',
            `localStorage.setItem('k', 'v'); sessionStorage.k = 's'; document.cookie = 'one=1; path=/'; document.cookie = 'two=2; domain=site.example';
            return [localStorage.k, sessionStorage.k, document.cookie.split('; ').sort()];`,
        ),
        gives: ['v', 's', ['one=1', 'two=2']],
    },
    {
        path: 'strictly.html',
        about: "a page's own policy and integrity",
        body: page(
            'strictly',
            `<script src="http://cdn.example/classic.js" integrity="sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=" crossorigin="anonymous"></script><img id="a" src="/img/82.svg">`,
            `<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src http://cdn.example">`,
        ),
        headers: { 'content-security-policy': "default-src 'none'", 'x-frame-options': 'DENY' },
        reads: () => [window.classic, a.naturalWidth],
        gives: ['ran', 82],
    },
    {
        path: 'media.html',
        about: 'media that is read in ranges',
        body: scripted(
            'media',
            `const sound = document.querySelector('audio');
            if (!(sound.readyState >= 1)) await new Promise((done, failed) => { sound.onloadedmetadata = done; sound.onerror = () => failed('no sound'); });
            const sought = new Promise(done => { sound.onseeked = done; });
            sound.currentTime = 2;
            await sought;
            return [sound.duration, sound.currentTime];`,
            '<audio preload="auto" src="/tone.wav"></audio>',
        ),
        gives: [3, 2],
    },
    {
        path: 'live.html',
        about: 'everything at once that is not in the archive',
        body: page(
            'live',
            `<img src="http://live.example/a.png"><img srcset="https://live.example/b.png 1x"><script src="//live.example/c.js"></script>
            <iframe src="https://live.example/d.html"></iframe><object data="http://live.example/e.swf"></object><embed src="http://live.example/f">
            <video src="http://live.example/g.mp4" poster="http://live.example/h.png"><track src="http://live.example/i.vtt" default></video>
            <audio src="http://live.example/j.ogg" autoplay></audio><input type="image" src="http://live.example/k.png">
            <table background="http://live.example/l.png"><tr><td background="http://live.example/m.png">x</td></tr></table>
            <a id="ping" href="/target.html" ping="http://live.example/n">ping</a><div style="background: url(http://live.example/o.png)">x</div>
            <svg><image href="http://live.example/p.png"/><use href="http://live.example/q.svg#x"/><filter><feImage href="http://live.example/r.png"/></filter></svg>
            <script>
            fetch('http://live.example/s').catch(() => {}); navigator.sendBeacon('http://live.example/t', 'x');
            const xhr = new XMLHttpRequest(); xhr.open('GET', 'https://live.example/u'); xhr.send();
            try { new WebSocket('wss://live.example/v'); } catch {}
            try { new EventSource('http://live.example/w').onerror = event => event.target.close(); } catch {}
            import('http://live.example/x.js').catch(() => {});
            try { new Worker('http://live.example/y.js'); } catch {}
            new Image().src = 'http://live.example/z.png';
            document.write('<img src="http://live.example/aa.png">');
            const link = document.createElement('link'); link.rel = 'prefetch'; link.href = 'http://live.example/bb.html'; document.head.append(link);
            addEventListener('load', () => { window.result = ['all tried']; });
            </script>`,
            `<link rel="preconnect" href="http://live.example"><link rel="dns-prefetch" href="//live.example"><link rel="prefetch" href="http://live.example/cc.html">
            <link rel="preload" as="script" href="http://live.example/dd.js"><link rel="modulepreload" href="http://live.example/ee.js"><link rel="stylesheet" href="http://live.example/ff.css">
            <link rel="icon" href="http://live.example/gg.ico"><link rel="manifest" href="http://live.example/hh.json">
            <script type="speculationrules">{ "prerender": [{ "source": "list", "urls": ["http://live.example/ii.html"] }] }</script>`,
        ),
        waits: () => window.result,
        reads: () => window.result[0],
        gives: 'all tried',
        clicks: '#ping',
    },
];

const LINKS = page(
    'links',
    `<a id="relative" href="target.html">1</a> <a id="rooted" href="/target.html">2</a> <a id="schemeless" href="//site.example/target.html">3</a>
    <a id="absolute" href="http://site.example/target.html#part">4</a> <a id="redirected" href="/old.html">5</a> <a id="other" href="http://other.example/">6</a>
    <a id="live" href="http://live.example/page.html">7</a> <a id="top" href="/target.html" target="_top">8</a>
    <form id="get" action="/found.html"><input name="q" value="two words"><input name="more" value="ф"></form>
    <form id="livepost" action="http://live.example/post" method="post"><input name="q" value="1"></form>
    <map name="m"><area id="area" href="/target.html" shape="rect" coords="0,0,50,50"></map><img usemap="#m" src="/img/20.svg" width="50" height="50">`,
);

/** URL → what the site answers there. */
export const SITE = {
    ...Object.fromEntries(
        Object.entries(FILES).map(([url, file]) => [url, typeof file === 'string' ? { body: file } : file]),
    ),
    ...Object.fromEntries(
        PAGES.filter(({ body }) => body).map(({ path, type, headers, body }) => [
            `http://site.example/${path}`,
            { type, headers, body },
        ]),
    ),
    'http://site.example/links.html': { body: LINKS },
};

/** Leads the crawler to what only scripts ask for. */
SITE['http://site.example/'] = {
    body: page(
        'everything',
        Object.keys(SITE)
            .map(url => `<a href="${url.replaceAll('&', '&amp;')}">${url.replaceAll('&', '&amp;')}</a>`)
            .join('\n'),
    ),
};
