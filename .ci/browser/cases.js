// One page per feature that replay.js keeps in the archive: what its script does, which requests must reach the archive
// (`<modifier> <url>`), and what the script must read back. Every case runs on http://site.example/dir/page.html in both
// isolation modes unless `modes` says otherwise, and is wrong if the trap sees anything.

const NAMES = ['names'];

export const CASES = [
    // ---- the network ----
    {
        name: 'fetch of absolute, root-relative and relative URLs',
        script: `const urls = [];
            for (const url of ['http://cdn.example/a.json', '/b.json', 'c.json', new URL('http://cdn.example/d.json')]) {
                const response = await fetch(url, { credentials: 'include' });
                urls.push(response.url, (await response.json()).url);
            }
            return urls;`,
        asks: [
            'oe_ http://cdn.example/a.json',
            'oe_ http://site.example/b.json',
            'oe_ http://site.example/dir/c.json',
            'oe_ http://cdn.example/d.json',
        ],
        gives: [
            'http://cdn.example/a.json',
            'http://cdn.example/a.json',
            'http://site.example/b.json',
            'http://site.example/b.json',
            'http://site.example/dir/c.json',
            'http://site.example/dir/c.json',
            'http://cdn.example/d.json',
            'http://cdn.example/d.json',
        ],
    },
    {
        name: 'fetch of what a script builds on the location it sees',
        script: `const one = await fetch(location.origin + '/x.json');
            const two = await fetch(location.pathname.replace('page.html', 'y.json'));
            const three = await fetch(new URL('z.json', location.href));
            return [one.url, two.url, three.url];`,
        asks: [
            'oe_ http://site.example/x.json',
            'oe_ http://site.example/dir/y.json',
            'oe_ http://site.example/dir/z.json',
        ],
        gives: ['http://site.example/x.json', 'http://site.example/dir/y.json', 'http://site.example/dir/z.json'],
    },
    {
        name: 'Request, subclasses of it, and fetch of it with integrity',
        script: `class Mine extends Request {}
            const mine = new Mine('http://cdn.example/r.json', { mode: 'cors', credentials: 'include' });
            const response = await fetch(mine, { integrity: 'sha256-AAAA' });
            return [mine.url, mine instanceof Request, mine.constructor === Mine, new Request('/q').constructor === Request, response.url];`,
        asks: ['oe_ http://cdn.example/r.json'],
        gives: ['http://cdn.example/r.json', true, true, true, 'http://cdn.example/r.json'],
    },
    {
        name: 'fetch with a bad argument rejects and does not throw',
        script: `return [await fetch().catch(error => error.name), await fetch('http://[').catch(error => error.name)];`,
        asks: [],
        gives: ['TypeError', 'TypeError'],
    },
    {
        name: 'XMLHttpRequest, its address and the original headers',
        script: `const xhr = new XMLHttpRequest();
            xhr.open('GET', 'http://cdn.example/headers');
            xhr.withCredentials = true;
            await new Promise(done => { xhr.onloadend = done; xhr.send(); });
            const sync = new XMLHttpRequest();
            sync.open('GET', '../s.json', false);
            sync.send();
            return [xhr.responseURL, xhr.status, xhr.getResponseHeader('X-Made-By'), xhr.getResponseHeader('x-none'), sync.responseURL];`,
        asks: ['oe_ http://cdn.example/headers', 'oe_ http://site.example/s.json'],
        gives: ['http://cdn.example/headers', 200, 'hand', null, 'http://site.example/s.json'],
        pages: {
            'http://cdn.example/headers': {
                type: 'text/plain',
                body: 'x',
                headers: { 'x-archive-orig-x-made-by': 'hand', 'access-control-expose-headers': '*' },
            },
        },
    },
    {
        name: 'EventSource',
        script: `const source = new EventSource('http://cdn.example/events');
            const event = await new Promise(done => { source.onmessage = done; });
            source.close();
            return [source.url, event.data];`,
        asks: ['oe_ http://cdn.example/events'],
        gives: ['http://cdn.example/events', 'hello'],
        pages: { 'http://cdn.example/events': { type: 'text/event-stream', body: 'data: hello\n\n' } },
    },
    {
        name: 'sendBeacon is dropped and says yes',
        script: `return [navigator.sendBeacon('http://tracker.example/b', 'x'), navigator.sendBeacon('/b')];`,
        asks: [],
        gives: [true, true],
    },
    {
        name: 'WebSocket fails as to a dead host',
        script: `const socket = new WebSocket('wss://socket.example/chat');
            const first = [socket.url, socket instanceof WebSocket];
            const heard = [];
            socket.onerror = () => heard.push('error');
            const close = await new Promise(done => socket.addEventListener('close', done));
            let thrown;
            try { new WebSocket('mailto:x'); } catch (error) { thrown = error.name; }
            return [...first, ...heard, close.code, socket.readyState, thrown];`,
        asks: [],
        gives: ['wss://socket.example/chat', true, 'error', 1006, 3, 'SyntaxError'],
    },
    {
        name: 'RTCPeerConnection finds no way out',
        script: `const peer = new RTCPeerConnection({ iceServers: [{ urls: 'stun:127.0.0.1:UDP_PORT' }] });
            peer.createDataChannel('x');
            const candidates = [];
            const gathered = new Promise(done => { peer.onicecandidate = event => { if (event.candidate?.candidate) candidates.push(event.candidate.candidate); else done(); }; });
            try { await peer.setLocalDescription(await peer.createOffer()); await gathered; } catch (error) {}
            return candidates;`,
        asks: [],
        gives: [],
    },
    {
        name: 'a classic worker: its script, its location, and what it asks for',
        script: `const worker = new Worker('/w/worker.js');
            return await new Promise((done, failed) => { worker.onmessage = event => done(event.data); worker.onerror = event => failed(event.message); });`,
        asks: [
            'wkr_ http://site.example/w/worker.js',
            'js_ http://cdn.example/lib.js',
            'js_ http://site.example/w/near.js',
            'oe_ http://cdn.example/in-worker.json',
            'oe_ http://site.example/w/near.json',
        ],
        gives: [
            'http://site.example/w/worker.js',
            'site.example',
            2,
            'http://cdn.example/in-worker.json',
            'http://site.example/w/near.json',
        ],
        pages: {
            'http://site.example/w/worker.js': {
                type: 'text/javascript',
                body: `importScripts('http://cdn.example/lib.js', 'near.js');
                    (async () => {
                        const one = await fetch('http://cdn.example/in-worker.json');
                        const two = await fetch('near.json');
                        postMessage([location.href, location.host, loaded.length, one.url, two.url]);
                    })();`,
            },
        },
    },
    {
        name: 'a worker from a blob whose URL is revoked at once',
        script: `const url = URL.createObjectURL(new Blob(["fetch('http://cdn.example/blob.json').then(r => postMessage(r.url))"]));
            const worker = new Worker(url);
            URL.revokeObjectURL(url);
            return await new Promise((done, failed) => { worker.onmessage = event => done(event.data); worker.onerror = event => failed(event.message); });`,
        asks: ['oe_ http://cdn.example/blob.json'],
        gives: 'http://cdn.example/blob.json',
    },
    {
        name: 'a module worker',
        script: `const worker = new Worker('http://site.example/module.js', { type: 'module' });
            return await new Promise((done, failed) => { worker.onmessage = event => done(event.data); worker.onerror = event => failed(event.message); });`,
        asks: [
            'wkr_ http://site.example/module.js',
            'wkr_ http://site.example/part.js',
            'oe_ http://cdn.example/m.json',
        ],
        gives: ['http://cdn.example/m.json', 1],
        pages: {
            'http://site.example/module.js': {
                type: 'text/javascript',
                body: `import './part.js'; fetch('http://cdn.example/m.json').then(r => postMessage([r.url, loaded.length]));`,
            },
        },
    },
    {
        name: 'a shared worker',
        modes: NAMES,
        script: `const worker = new SharedWorker('http://site.example/shared.js');
            return await new Promise(done => { worker.port.onmessage = event => done(event.data); });`,
        asks: ['wkr_ http://site.example/shared.js'],
        gives: 'shared',
        pages: {
            'http://site.example/shared.js': {
                type: 'text/javascript',
                body: `onconnect = event => event.ports[0].postMessage('shared');`,
            },
        },
    },
    {
        name: 'Cache.add and match',
        modes: NAMES,
        script: `const cache = await caches.open('mine');
            await cache.add('http://cdn.example/cached.json');
            const found = await cache.match('http://cdn.example/cached.json');
            const keys = await cache.keys();
            return [found.url, keys.map(key => key.url)];`,
        asks: ['oe_ http://cdn.example/cached.json'],
        gives: ['http://cdn.example/cached.json', ['http://cdn.example/cached.json']],
    },
    {
        name: 'dynamic imports, absolute, root-relative and relative',
        modes: NAMES,
        script: `await import('http://cdn.example/one.js'); await import('/two.js'); await import('./three.js');
            return loaded;`,
        asks: ['js_ http://cdn.example/one.js', 'js_ http://site.example/two.js'],
        gives: ['http://cdn.example/one.js', 'http://site.example/two.js', 'http://site.example/dir/three.js'],
    },
    // ---- elements ----
    {
        name: 'img.src, new Image, srcset and setAttribute',
        script: `const done = image => new Promise(resolve => { image.onload = image.onerror = resolve; });
            const one = new Image(); one.src = 'http://cdn.example/1.png'; await done(one);
            const two = document.createElement('img'); two.setAttribute('src', '/2.png'); await done(two);
            const three = document.createElement('img'); three.srcset = 'http://cdn.example/3.png 1x, /3b.png 9x'; await done(three);
            return [one.src, one.getAttribute('src'), one.width, two.src, two.getAttribute('src'), three.srcset, three.currentSrc];`,
        asks: ['im_ http://cdn.example/1.png', 'im_ http://site.example/2.png', 'im_ http://cdn.example/3.png'],
        gives: [
            'http://cdn.example/1.png',
            'http://cdn.example/1.png',
            1,
            'http://site.example/2.png',
            '/2.png',
            'http://cdn.example/3.png 1x, /3b.png 9x',
            'http://cdn.example/3.png',
        ],
    },
    {
        name: 'script.src with integrity, document.currentScript and its removal',
        script: `const script = document.createElement('script');
            script.integrity = 'sha256-AAAA';
            script.setAttribute('integrity', 'sha256-AAAA');
            script.src = '//cdn.example/current.js';
            await new Promise((done, failed) => { script.onload = done; script.onerror = failed; document.head.append(script); });
            return [script.src, window.seen, document.scripts.length];`,
        asks: ['js_ http://cdn.example/current.js'],
        gives: ['http://cdn.example/current.js', ['http://cdn.example/current.js', 'http://cdn.example/current.js'], 2],
        pages: {
            'http://cdn.example/current.js': {
                type: 'text/javascript',
                body: `window.seen = [document.currentScript.src, document.currentScript.getAttribute('src').replace(/^\\/\\//, 'http://')];`,
            },
        },
    },
    {
        name: 'link rel=stylesheet, whichever is set first, and its sheet',
        script: `const load = link => new Promise((done, failed) => { link.onload = done; link.onerror = failed; document.head.append(link); });
            const one = document.createElement('link'); one.rel = 'stylesheet'; one.href = 'http://cdn.example/1.css'; await load(one);
            const two = document.createElement('link'); two.href = '/2.css'; two.rel = 'stylesheet'; await load(two);
            const icon = document.createElement('link'); icon.rel = 'icon'; icon.href = '/i.png';
            return [one.href, one.sheet.href, two.href, icon.href];`,
        asks: ['cs_ http://cdn.example/1.css', 'cs_ http://site.example/2.css'],
        gives: [
            'http://cdn.example/1.css',
            'http://cdn.example/1.css',
            'http://site.example/2.css',
            'http://site.example/i.png',
        ],
    },
    {
        name: 'anchors: href and every part of it, read and written',
        script: `const a = document.createElement('a');
            a.href = '/x/y?q=1#h';
            const parts = [a.href, a.getAttribute('href'), a.host, a.hostname, a.port, a.protocol, a.pathname, a.search, a.hash, a.origin, String(a)];
            a.pathname = '/z'; parts.push(a.href);
            a.search = '?r'; parts.push(a.href);
            a.href = 'rel.html'; parts.push(a.href, a.getAttribute('href'), a.pathname);
            a.href = '#f'; parts.push(a.href, a.getAttribute('href'));
            a.href = 'mailto:x@site.example'; parts.push(a.href, a.protocol);
            a.href = 'https://other.example:8443/'; parts.push(a.host, a.port, a.outerHTML);
            return parts;`,
        asks: [],
        gives: [
            'http://site.example/x/y?q=1#h',
            '/x/y?q=1#h',
            'site.example',
            'site.example',
            '',
            'http:',
            '/x/y',
            '?q=1',
            '#h',
            'http://site.example',
            'http://site.example/x/y?q=1#h',
            'http://site.example/z?q=1#h',
            'http://site.example/z?r#h',
            'http://site.example/dir/rel.html',
            'rel.html',
            '/dir/rel.html',
            'http://site.example/dir/page.html#f',
            '#f',
            'mailto:x@site.example',
            'mailto:',
            'other.example:8443',
            '8443',
            '<a href="https://other.example:8443/"></a>',
        ],
    },
    {
        name: 'media, poster, track, object, embed, input, background',
        script: `const add = (name, set) => { const e = document.createElement(name); set(e); document.body.append(e); return e; };
            const video = add('video', e => { e.poster = '/p.png'; e.src = 'http://cdn.example/v.mp4'; });
            const audio = add('audio', e => { e.innerHTML = '<source src="http://cdn.example/a.mp3">'; e.preload = 'auto'; });
            const object = add('object', e => { e.data = 'http://cdn.example/o.html'; });
            const embed = add('embed', e => { e.src = 'http://cdn.example/e.html'; });
            const input = add('input', e => { e.type = 'image'; e.src = '/input.png'; });
            const table = add('table', e => e.setAttribute('background', '/back.png'));
            return [video.poster, video.src, audio.firstChild.src, object.data, embed.src, input.src, table.getAttribute('background')];`,
        asks: [
            'im_ http://site.example/p.png',
            'oe_ http://cdn.example/v.mp4',
            'oe_ http://cdn.example/a.mp3',
            'oe_ http://cdn.example/o.html',
            'oe_ http://cdn.example/e.html',
            'im_ http://site.example/input.png',
            'im_ http://site.example/back.png',
        ],
        gives: [
            'http://site.example/p.png',
            'http://cdn.example/v.mp4',
            'http://cdn.example/a.mp3',
            'http://cdn.example/o.html',
            'http://cdn.example/e.html',
            'http://site.example/input.png',
            '/back.png',
        ],
    },
    {
        name: 'SVG images by href, xlink:href and baseVal',
        script: `const space = 'http://www.w3.org/2000/svg';
            const svg = document.createElementNS(space, 'svg'); document.body.append(svg);
            const make = set => { const image = document.createElementNS(space, 'image'); set(image); svg.append(image); return image; };
            const one = make(e => e.setAttribute('href', 'http://cdn.example/s1.png'));
            const two = make(e => e.setAttributeNS('http://www.w3.org/1999/xlink', 'xlink:href', '/s2.png'));
            const three = make(e => { e.href.baseVal = 'http://cdn.example/s3.png'; });
            svg.insertAdjacentHTML('beforeend', '<image href="/s4.png"/><image xlink:href="/s5.png"/>');
            return [one.getAttribute('href'), one.href.baseVal, two.getAttribute('xlink:href'), two.getAttributeNS('http://www.w3.org/1999/xlink', 'href'), three.getAttribute('href'), svg.children.length];`,
        asks: [
            'im_ http://cdn.example/s1.png',
            'im_ http://site.example/s2.png',
            'im_ http://cdn.example/s3.png',
            'im_ http://site.example/s4.png',
            'im_ http://site.example/s5.png',
        ],
        gives: [
            'http://cdn.example/s1.png',
            'http://cdn.example/s1.png',
            '/s2.png',
            '/s2.png',
            'http://cdn.example/s3.png',
            5,
        ],
    },
    {
        name: 'attribute nodes',
        script: `const image = document.createElement('img'); image.src = '/n1.png';
            const values = [image.attributes.src.value];
            image.attributes.src.value = 'http://cdn.example/n2.png'; values.push(image.src);
            const node = document.createAttribute('src'); node.value = '/n3.png'; image.setAttributeNode(node); values.push(image.src);
            return values;`,
        asks: ['im_ http://site.example/n3.png'],
        gives: ['/n1.png', 'http://cdn.example/n2.png', 'http://site.example/n3.png'],
    },
    // ---- markup ----
    {
        name: 'innerHTML, outerHTML, insertAdjacentHTML and what they read back',
        script: `const div = document.body.appendChild(document.createElement('div'));
            div.innerHTML = '<img src="http://cdn.example/i1.png?a=1&amp;b=2"><a href=/x title=\\'it"s\\'>x</a><!-- <img src=/no.png> -->';
            const back = [div.innerHTML, div.firstChild.src, div.querySelector('a').title];
            div.insertAdjacentHTML('beforeend', '<img srcset="/i2.png 1x">');
            div.lastChild.outerHTML = '<p style="background-image: url(&quot;/i3.png&quot;)">styled';
            const fresh = document.createElement('table'); fresh.innerHTML = '<tr><td background="/i4.png">'; document.body.append(fresh);
            div.innerHTML += '<b>more</b>';
            return [...back, div.querySelectorAll('img').length, fresh.rows.length];`,
        asks: [
            'im_ http://cdn.example/i1.png?a=1&b=2',
            'im_ http://site.example/i2.png',
            'oe_ http://site.example/i3.png',
            'im_ http://site.example/i4.png',
        ],
        gives: [
            '<img src="http://cdn.example/i1.png?a=1&amp;b=2"><a href="http://site.example/x" title="it&quot;s">x</a><!-- <img src=/no.png> -->',
            'http://cdn.example/i1.png?a=1&b=2',
            'it"s',
            1,
            1,
        ],
        never: ['http://site.example/no.png'],
    },
    {
        name: 'markup that only looks like URLs stays as it is',
        script: `const div = document.createElement('div');
            const texts = ['a < b href="/x" > c', '<textarea><img src="/t.png"></textarea>', '<p title="<img src=/q.png>">p</p>', '<script>var x = "<img src=/s.png>";<\\/script>', '<a href="javascript:void(0)">j</a><a href="#x">h</a><img src="data:image/gif;base64,AA">'];
            return texts.map(text => { div.innerHTML = text; return div.innerHTML; });`,
        asks: [],
        gives: [
            'a &lt; b href="/x" &gt; c',
            '<textarea>&lt;img src="/t.png"&gt;</textarea>',
            '<p title="&lt;img src=/q.png&gt;">p</p>',
            '<script>var x = "<img src=/s.png>";</script>',
            '<a href="javascript:void(0)">j</a><a href="#x">h</a><img src="data:image/gif;base64,AA">',
        ],
        never: ['t.png', 'q.png', 's.png'],
    },
    {
        name: 'document.write while parsing, with a tag in two pieces',
        body: `<script>
                document.write('<scr' + 'ipt src="http://cdn.example/w1.js"></scr' + 'ipt>');
                document.write('<p><img sr'); document.write('c="/w2.png" id=w2>'); document.writeln('<b id=b>bold</b>', '<img src=http://cdn.example/w3.png>');
            </script>`,
        script: `return [loaded, document.getElementById('w2').src, document.getElementById('b').textContent];`,
        asks: ['js_ http://cdn.example/w1.js', 'im_ http://site.example/w2.png', 'im_ http://cdn.example/w3.png'],
        gives: [['http://cdn.example/w1.js'], 'http://site.example/w2.png', 'bold'],
    },
    {
        name: 'document.open and write of a whole new document',
        script: `await new Promise(done => addEventListener('load', done));
            document.open(); document.write('<!doctype html><title>new</title><img src="http://cdn.example/o1.png"><a id=a href="http://cdn.example/" target=_blank>a</a>'); document.close();
            document.getElementById('a').click();
            return [document.images[0].src, document.title];`,
        asks: ['im_ http://cdn.example/o1.png'],
        gives: ['http://cdn.example/o1.png', 'new'],
        tells: { kind: 'open', url: 'http://cdn.example/' },
    },
    {
        name: 'DOMParser, template, createContextualFragment and clones, when inserted',
        script: `const parsed = new DOMParser().parseFromString('<img src="http://cdn.example/d1.png">', 'text/html').body.firstChild;
            const template = document.createElement('template'); template.innerHTML = '<img src="/d2.png">';
            const fragment = document.createRange().createContextualFragment('<img src="/d3.png">');
            const values = [parsed.getAttribute('src'), template.innerHTML, fragment.firstChild.src];
            document.body.append(parsed, template.content.cloneNode(true), fragment);
            const xml = new DOMParser().parseFromString('<feed><link href="http://cdn.example/feed"/></feed>', 'text/xml');
            return [...values, xml.querySelector('link').getAttribute('href'), new XMLSerializer().serializeToString(parsed).includes('/web/')];`,
        asks: ['im_ http://cdn.example/d1.png', 'im_ http://site.example/d2.png', 'im_ http://site.example/d3.png'],
        gives: [
            'http://cdn.example/d1.png',
            '<img src="http://site.example/d2.png">',
            'http://site.example/d3.png',
            'http://cdn.example/feed',
            false,
        ],
    },
    {
        name: 'shadow roots',
        script: `const host = document.body.appendChild(document.createElement('div'));
            const root = host.attachShadow({ mode: 'closed' });
            root.innerHTML = '<style>p { background: url(/shadow-style.png) }</style><p>x<img src="http://cdn.example/shadow.png">';
            return root.querySelector('img').src;`,
        asks: ['im_ http://cdn.example/shadow.png', 'oe_ http://site.example/shadow-style.png'],
        gives: 'http://cdn.example/shadow.png',
    },
    // ---- style ----
    {
        name: 'style properties, cssText, setProperty and the style attribute',
        script: `const make = set => { const p = document.createElement('p'); p.textContent = 'x'; set(p); document.body.append(p); return p; };
            const one = make(p => { p.style.backgroundImage = 'url(http://cdn.example/c1.png)'; });
            const two = make(p => { p.style.cssText = "color: red; background: url('/c2.png')"; });
            const three = make(p => p.style.setProperty('background-image', 'url("c3.png")'));
            const four = make(p => p.setAttribute('style', 'background: url(/c4.png)'));
            const five = make(p => { p.style = 'background: url(/c5.png)'; });
            const six = make(p => Object.assign(p.style, { background: 'url(/c6.png)', color: 'blue' }));
            return [one.style.backgroundImage, two.style.cssText, three.style.getPropertyValue('background-image'), four.getAttribute('style'),
                getComputedStyle(one).getPropertyValue('background-image'), six.style.color, one.style === one.style, one.style instanceof CSSStyleDeclaration,
                'color' in one.style, one.style.length, one.style[0], typeof one.style.setProperty];`,
        asks: [1, 2, 3, 4, 5, 6].map(
            n => `oe_ http://${n === 1 ? 'cdn' : 'site'}.example/${n === 3 ? 'dir/' : ''}c${n}.png`,
        ),
        gives: [
            'url("http://cdn.example/c1.png")',
            'color: red; background: url("http://site.example/c2.png");',
            'url("http://site.example/dir/c3.png")',
            'background: url(/c4.png)',
            'url("http://cdn.example/c1.png")',
            'blue',
            true,
            true,
            true,
            1,
            'background-image',
            'function',
        ],
    },
    {
        name: 'style elements by text, text node and innerHTML; imports added later',
        body: '<p class=t1>x<p class=t2>x<p class=t3>x',
        script: `const add = set => { const s = document.createElement('style'); set(s); document.head.append(s); return s; };
            const one = add(s => { s.textContent = '.t1 { background: url(http://cdn.example/t1.png) }'; });
            add(s => s.appendChild(document.createTextNode('.t2 { background: url("/t2.png") }')));
            add(s => { s.innerHTML = '@import "http://cdn.example/t.css"; .t3 { background: url(/t3.png) }'; });
            add(s => s.append('@import url(/u.css);'));
            return [one.textContent, one.sheet.cssRules[0].cssText];`,
        asks: [
            'oe_ http://cdn.example/t1.png',
            'oe_ http://site.example/t2.png',
            'oe_ http://site.example/t3.png',
            'cs_ http://cdn.example/t.css',
            'cs_ http://site.example/u.css',
        ],
        gives: [
            '.t1 { background: url("http://cdn.example/t1.png") }',
            '.t1 { background: url("http://cdn.example/t1.png"); }',
        ],
    },
    {
        name: "insertRule, replaceSync, replace and a rule's style",
        body: '<p class=r1>x<p class=r2>x<p class=r3>x<p class=r4>x<style>.r4 { color: red }</style>',
        script: `const { sheet } = document.querySelector('style');
            sheet.insertRule('.r1 { background: url(http://cdn.example/r1.png) }');
            sheet.cssRules[1].style.backgroundImage = 'url(/r4.png)';
            const made = new CSSStyleSheet(); made.replaceSync('.r2 { background: url(/r2.png) }');
            const later = new CSSStyleSheet(); await later.replace('.r3 { background: url(/r3.png) }');
            document.adoptedStyleSheets = [made, later];
            return sheet.cssRules[0].cssText;`,
        asks: [
            'oe_ http://cdn.example/r1.png',
            'oe_ http://site.example/r2.png',
            'oe_ http://site.example/r3.png',
            'oe_ http://site.example/r4.png',
        ],
        gives: '.r1 { background: url("http://cdn.example/r1.png"); }',
    },
    {
        name: 'FontFace',
        script: `const font = new FontFace('Mine', 'url(http://cdn.example/f.woff2)');
            await font.load().catch(() => {});
            return font.family;`,
        asks: ['oe_ http://cdn.example/f.woff2'],
        gives: 'Mine',
    },
    // ---- the document about itself ----
    {
        name: 'what the document says of itself',
        script: `return [document.URL, document.documentURI, document.baseURI, document.referrer, document.domain, origin];`,
        asks: [],
        gives: [
            'http://site.example/dir/page.html',
            'http://site.example/dir/page.html',
            'http://site.example/dir/page.html',
            '',
            'site.example',
            'http://site.example',
        ],
    },
    {
        name: 'a base element set by script',
        script: `const base = document.createElement('base'); base.href = 'http://cdn.example/deep/'; document.head.prepend(base);
            const image = new Image(); image.src = 'based.png'; document.body.append(image);
            return [document.baseURI, base.href, image.src];`,
        asks: ['im_ http://cdn.example/deep/based.png'],
        gives: ['http://cdn.example/deep/', 'http://cdn.example/deep/', 'http://cdn.example/deep/based.png'],
    },
    {
        name: 'document.cookie is a jar of its own',
        script: `document.cookie = 'a=1; path=/; expires=Fri, 01 Jan 2100 00:00:00 GMT'; document.cookie = 'b=2;max-age=60'; document.cookie = 'c=3';
            document.cookie = 'b=; expires=Thu, 01 Jan 1970 00:00:00 GMT'; document.cookie = 'c=x; max-age=0'; document.cookie = 'a=4';
            return document.cookie;`,
        asks: [],
        gives: 'a=4',
        check: async ({ context }) => (await context.cookies()).length === 0,
    },
    {
        name: 'storage works, and in an opaque origin does not throw',
        script: `localStorage.setItem('a', 1); localStorage.b = 'two'; sessionStorage['c'] = 3;
            const seen = [localStorage.getItem('a'), localStorage.b, localStorage.length, Object.keys(localStorage).sort(), 'b' in localStorage, localStorage.getItem('none'), typeof localStorage.none, sessionStorage.c, localStorage instanceof Storage];
            localStorage.removeItem('a'); delete localStorage.b;
            return [...seen, localStorage.length];`,
        asks: [],
        gives: ['1', 'two', 2, ['a', 'b'], true, null, 'undefined', '3', true, 0],
    },
    {
        name: 'no frame is seen around the page where that can be hidden',
        script: `return [parent === window, window.parent === self, frameElement];`,
        asks: [],
        gives: [true, true, null],
    },
    {
        name: 'pushState and replaceState, relative and absolute',
        script: `history.pushState({ n: 1 }, '', '/app/one');
            const seen = [document.URL, history.state.n];
            history.replaceState({ n: 2 }, '', 'http://site.example/app/two?x#y');
            seen.push(document.URL, history.state.n);
            seen.push((await fetch('near.json')).url);
            try { history.pushState(null, '', 'http://other.example/'); } catch (error) { seen.push(error.name); }
            return seen;`,
        asks: ['oe_ http://site.example/app/near.json'],
        gives: [
            'http://site.example/app/one',
            1,
            'http://site.example/app/two?x#y',
            2,
            'http://site.example/app/near.json',
            'SecurityError',
        ],
        tells: { kind: 'at', url: 'http://site.example/app/two?x#y' },
    },
    {
        name: 'the page is announced with its title, and a new title too',
        script: `document.title = 'second'; return document.title;`,
        asks: [],
        gives: 'second',
        tells: { kind: 'at', url: 'http://site.example/dir/page.html', title: 'second' },
    },
    {
        name: 'a title changed through its text',
        script: `if (document.readyState === 'loading') await new Promise(done => addEventListener('DOMContentLoaded', done));
            document.querySelector('title').firstChild.data = 'third'; return document.title;`,
        asks: [],
        gives: 'third',
        tells: { kind: 'at', title: 'third' },
    },
    {
        name: 'a service worker of the page is refused, and ours is hidden',
        modes: NAMES,
        script: `const refused = await navigator.serviceWorker.register('/own-sw.js').catch(error => error.name);
            return [refused, await navigator.serviceWorker.getRegistrations(), navigator.serviceWorker.controller];`,
        asks: [],
        gives: ['TypeError', [], null],
        never: ['own-sw.js'],
    },
    {
        name: 'an opaque origin shows no service worker, caches or IndexedDB',
        modes: ['opaque'],
        script: `return ['serviceWorker' in navigator, 'caches' in window, typeof indexedDB];`,
        asks: [],
        gives: [false, false, 'undefined'],
    },
    // ---- frames ----
    {
        name: 'iframe.src, and its document of another site',
        script: `const frame = document.createElement('iframe'); frame.src = 'http://other.example/framed.html';
            await new Promise(done => { frame.onload = done; document.body.append(frame); });
            return [frame.src, frame.getAttribute('src')];`,
        asks: ['if_ http://other.example/framed.html', 'im_ http://deep.example/framed.png'],
        gives: ['http://other.example/framed.html', 'http://other.example/framed.html'],
        pages: {
            'http://other.example/framed.html':
                '<!doctype html><title>framed</title><body><script>new Image().src = "http://deep.example/framed.png"</script>',
        },
    },
    {
        name: 'iframe.srcdoc has the script too',
        script: `const frame = document.createElement('iframe');
            frame.srcdoc = '<!doctype html><img src="http://cdn.example/sd1.png"><script>new Image().src = "http://cdn.example/sd2.png"; new Image().src = "sd3.png"; parent.postMessage(document.baseURI, "*")</scr' + 'ipt>';
            const heard = new Promise(done => addEventListener('message', event => done(event.data)));
            document.body.append(frame);
            return [await heard, frame.srcdoc.startsWith('<!doctype html><img')];`,
        asks: [
            'im_ http://cdn.example/sd1.png',
            'im_ http://cdn.example/sd2.png',
            'im_ http://site.example/dir/sd3.png',
        ],
        gives: ['http://site.example/dir/page.html', true],
    },
    {
        name: 'documents from blob: and data: have the script too, and keep to standards',
        script: `const heard = [];
            const all = new Promise(done => addEventListener('message', event => { heard.push(event.data); if (heard.length === 3) done(); }));
            const html = name => '<!doctype html><p>x<script>const i = new Image(); i.src = "http://cdn.example/' + name + '.png"; i.onload = () => parent.postMessage([document.compatMode, i.src].join(), "*")</scr' + 'ipt>';
            const add = src => { const frame = document.createElement('iframe'); frame.src = src; document.body.append(frame); return frame; };
            const url = URL.createObjectURL(new Blob([html('b')], { type: 'text/html' }));
            const same = add(url).getAttribute('src') === url;
            add('data:text/html,' + encodeURIComponent(html('d')));
            add('data:text/html;base64,' + btoa(html('e')));
            await all;
            return [same, ...heard.sort()];`,
        asks: ['im_ http://cdn.example/b.png', 'im_ http://cdn.example/d.png', 'im_ http://cdn.example/e.png'],
        gives: [true, ...['b', 'd', 'e'].map(name => `CSS1Compat,http://cdn.example/${name}.png`)],
    },
    {
        name: 'a frame that the page itself put in a sandbox',
        script: `const frame = document.createElement('iframe'); frame.sandbox = 'allow-scripts'; frame.src = '/boxed.html';
            const heard = new Promise(done => addEventListener('message', event => done(event.data)));
            document.body.append(frame);
            return await heard;`,
        asks: ['if_ http://site.example/boxed.html', 'im_ http://cdn.example/boxed.png'],
        gives: ['http://site.example/boxed.html', '1', false],
        pages: {
            'http://site.example/boxed.html':
                '<!doctype html><title>b</title><body><script>localStorage.a = 1; const i = new Image(); i.onload = () => parent.postMessage([document.URL, localStorage.a, "serviceWorker" in navigator], "*"); i.src = "http://cdn.example/boxed.png"</script>',
        },
    },
    {
        name: 'empty frames are reached however they are made and found',
        modes: NAMES,
        body: '<iframe name=parsed></iframe>',
        script: `const seen = [];
            const one = document.createElement('iframe'); document.body.append(one); seen.push((await one.contentWindow.fetch('http://cdn.example/e1.json')).url);
            const div = document.body.appendChild(document.createElement('div')); div.innerHTML = '<iframe name=two></iframe>';
            seen.push((await window.two.fetch('http://cdn.example/e2.json')).url);
            document.body.insertAdjacentHTML('beforeend', '<iframe src="about:blank"></iframe>');
            seen.push((await window[window.length - 1].fetch('/e3.json')).url);
            seen.push((await frames.parsed.fetch('e4.json')).url);
            const doc = one.contentDocument; doc.open(); doc.write('<img src="http://cdn.example/e5.png">'); doc.close();
            seen.push(doc.images[0].src);
            const Image5 = frames.two.Image; new Image5().src = 'http://cdn.example/e6.png';
            return seen;`,
        asks: [
            'oe_ http://cdn.example/e1.json',
            'oe_ http://cdn.example/e2.json',
            'oe_ http://site.example/e3.json',
            'oe_ http://site.example/dir/e4.json',
            'im_ http://cdn.example/e5.png',
            'im_ http://cdn.example/e6.png',
        ],
        gives: [
            'http://cdn.example/e1.json',
            'http://cdn.example/e2.json',
            'http://site.example/e3.json',
            'http://site.example/dir/e4.json',
            'http://cdn.example/e5.png',
        ],
    },
    {
        name: 'a javascript: frame',
        modes: NAMES,
        script: `const frame = document.createElement('iframe'); document.body.append(frame);
            frame.src = 'javascript:"<p id=made><img src=http://cdn.example/j1.png>"';
            await new Promise(done => { frame.onload = done; });
            frame.contentWindow.eval('new Image().src = "http://cdn.example/j2.png"');
            return frame.contentDocument.getElementById('made') !== null;`,
        asks: ['im_ http://cdn.example/j2.png'],
        gives: true,
    },
    {
        name: 'messages between frames carry original origins',
        modes: NAMES,
        script: `const heard = new Promise(done => addEventListener('message', event => { if (event.data === 'late') done(event.origin); }));
            const own = new Promise(done => addEventListener('message', event => { if (event.data === 'self') done(event.origin); }));
            postMessage('self', '*');
            const frame = document.createElement('iframe'); frame.src = 'http://other.example/speaks.html'; document.body.append(frame);
            return [await heard, await own];`,
        asks: ['if_ http://other.example/speaks.html'],
        gives: ['http://other.example', 'http://site.example'],
        pages: {
            'http://other.example/speaks.html':
                '<!doctype html><title>s</title><script>addEventListener("load", () => setTimeout(() => setTimeout(() => parent.postMessage("late", "*"))))</script>',
        },
    },
    // ---- new windows ----
    {
        name: 'window.open tells the viewer',
        script: `return window.open('/new.html', 'name', 'width=200');`,
        asks: [],
        gives: null,
        tells: { kind: 'open', url: 'http://site.example/new.html' },
    },
    {
        name: 'a link with target=_blank tells the viewer',
        body: '<a id=a target=_blank>a</a>',
        script: `const a = document.getElementById('a'); a.href = 'http://other.example/blank.html'; a.click(); return a.target;`,
        asks: [],
        gives: '_blank',
        tells: { kind: 'open', url: 'http://other.example/blank.html' },
    },
    {
        name: 'a link outside the document with target=_blank tells the viewer',
        script: `const a = document.createElement('a'); a.href = '/detached.html'; a.target = '_blank'; a.click(); return true;`,
        asks: [],
        gives: true,
        tells: { kind: 'open', url: 'http://site.example/detached.html' },
    },
    {
        name: 'window.open from a nested frame reaches the viewer',
        script: `const frame = document.createElement('iframe'); frame.src = 'http://other.example/opens.html'; document.body.append(frame); return true;`,
        asks: ['if_ http://other.example/opens.html'],
        gives: true,
        tells: { kind: 'open', url: 'http://other.example/from-nested.html' },
        pages: {
            'http://other.example/opens.html':
                '<!doctype html><title>o</title><body><script>open("from-nested.html")</script>',
        },
    },
    {
        name: 'the script tag in fetched markup that a library runs changes nothing',
        script: `const script = document.createElement('script'); script.src = location.origin + '/herodotus/replay.js';
            Object.assign(script.dataset, { stamp: '20000101000000', url: 'http://wrong.example/', mode: 'names' });
            await new Promise((done, failed) => { script.onload = done; script.onerror = failed; document.head.append(script); });
            return (await fetch('/still.json')).url;`,
        asks: ['oe_ http://site.example/still.json'],
        gives: 'http://site.example/still.json',
    },
    {
        name: "functions still look and behave like the browser's",
        script: `const values = [/native code/.test(Request), fetch.name, fetch.length, document.createElement('a').setAttribute.length];
            try { document.createElement('p').setAttribute('x'); } catch (error) { values.push(error.name); }
            try { document.body.insertBefore(document.createElement('p')); } catch (error) { values.push(error.name); }
            const p = document.createElement('p'); p.setAttribute('data-x', 5); values.push(p.getAttribute('data-x'), p.getAttribute('none'));
            return values;`,
        asks: [],
        gives: [true, 'fetch', 1, 2, 'TypeError', 'TypeError', '5', null],
    },
];

// Pages that leave: run in names mode, and what replaces them must be `arrives` at the archive. Where `opaque` is given,
// that is what happens without a Navigation API: nothing leaves, and the page stays or is blocked.
export const NAVIGATIONS = [
    {
        name: 'location = absolute',
        script: `location = 'http://other.example/go.html'`,
        arrives: 'http://other.example/go.html',
    },
    {
        name: 'location.href = root-relative',
        script: `location.href = '/go.html'`,
        arrives: 'http://site.example/go.html',
    },
    {
        name: 'location.assign of a protocol-relative URL',
        script: `location.assign('//other.example/go.html')`,
        arrives: 'http://other.example/go.html',
    },
    {
        name: 'location.replace',
        script: `location.replace('https://other.example/go.html')`,
        arrives: 'https://other.example/go.html',
    },
    {
        name: 'location = relative',
        both: true,
        script: `location = 'go.html?x=1#y'`,
        arrives: 'http://site.example/dir/go.html?x=1',
    },
    { name: 'location.pathname', script: `location.pathname = '/go.html'`, arrives: 'http://site.example/go.html' },
    {
        name: 'navigation.navigate',
        script: `navigation.navigate('http://other.example/go.html')`,
        arrives: 'http://other.example/go.html',
    },
    {
        name: 'a link in the page',
        both: true,
        body: '<a id=a>a</a>',
        script: `a.href = 'http://other.example/go.html'; a.click()`,
        arrives: 'http://other.example/go.html',
    },
    {
        name: 'a link to the top',
        both: true,
        body: '<a id=a target=_top>a</a>',
        script: `a.href = '/go.html'; a.click()`,
        arrives: 'http://site.example/go.html',
    },
    {
        name: 'a link outside the document',
        both: true,
        script: `const a = document.createElement('a'); a.href = '/go.html'; a.click()`,
        arrives: 'http://site.example/go.html',
    },
    {
        name: 'a form by GET',
        both: true,
        body: '<form id=f><input name=q value=1></form>',
        script: `f.action = 'http://other.example/go.html'; f.submit()`,
        arrives: 'http://other.example/go.html?q=1',
    },
    {
        name: 'a form by POST',
        both: true,
        body: '<form id=f method=post><input name=q value=1></form>',
        script: `f.setAttribute('action', '/go.html'); f.requestSubmit()`,
        arrives: 'http://site.example/go.html',
    },
    {
        name: 'a form to a new window by POST',
        both: true,
        body: '<form id=f method=post target=_blank><input name=action></form>',
        script: `f.setAttribute('action', '/go.html'); f.submit()`,
        arrives: 'http://site.example/go.html',
    },
    {
        name: 'a form with formaction on its button',
        both: true,
        body: '<form id=f><button id=b name=x value=1>b</button></form>',
        script: `b.formAction = 'http://other.example/go.html'; b.click()`,
        arrives: 'http://other.example/go.html?x=1',
    },
    {
        name: 'a meta refresh made by script',
        script: `const meta = document.createElement('meta'); meta.httpEquiv = 'refresh'; meta.content = '0; url=http://other.example/go.html'; document.head.append(meta)`,
        arrives: 'http://other.example/go.html',
    },
    {
        name: 'a meta refresh in markup',
        both: true,
        script: `document.body.innerHTML = '<meta http-equiv="refresh" content="0;url=/go.html">'`,
        arrives: 'http://site.example/go.html',
    },
    {
        name: 'window.open to itself',
        both: true,
        script: `open('http://other.example/go.html', '_self')`,
        arrives: 'http://other.example/go.html',
    },
    {
        name: 'document.location',
        script: `document.location = 'http://other.example/go.html'`,
        arrives: 'http://other.example/go.html',
    },
];
