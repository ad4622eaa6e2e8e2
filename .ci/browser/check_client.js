// The client script and service worker of replay, feature by feature, in both isolation modes: requests reach the archive
// at the URL they should, the live web hears nothing, and scripts read back what they would have read then.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { STAMP, labelOf, startStage } from './archive.js';
import { CASES, NAVIGATIONS } from './cases.js';
import { until } from './harness.js';

const PAGE = 'http://site.example/dir/page.html';
const { trap, archive, browser, close } = await startStage();

after(async () => {
    const names = await close();
    assert.deepEqual(trap.seen, [], 'the live web heard from us');
    assert.deepEqual(names, [], 'names were looked up');
});

/** Shows a page in the viewer and gives the parts. The page's `script` ends with `window.result`. */
async function show(mode, { body = '', script = '', pages = {}, title = 'first' }, options = {}) {
    archive.pages = {
        ...pages,
        [PAGE]: `<!doctype html><html><head><title>${title}</title></head><body>${body}<script>
            (async () => { ${script.replaceAll('UDP_PORT', trap.udpPort)} })().then(
                value => { window.result = [value ?? null]; },
                error => { window.result = ['threw ' + (error?.message ?? error)]; });
        </script></body></html>`,
    };
    archive.strict = options.strict ?? false;
    archive.asked.length = 0;
    archive.strays.length = 0;
    const context = await browser.newContext();
    context.setDefaultTimeout(8000);
    const page = await context.newPage();
    await page.goto(archive.viewerUrl(mode, PAGE, options.ui));
    const frame = await (await page.waitForSelector('iframe')).contentFrame();
    return {
        context,
        page,
        frame,
        result: async () => (await (await frame.waitForFunction(() => window.result)).jsonValue())[0],
    };
}

const asked = wanted =>
    until(
        archive.events,
        'request',
        () => archive.asked.includes(wanted),
        `a request for ${wanted}, among:\n${archive.asked.join('\n')}\nstrays: ${archive.strays}`,
    );

for (const mode of ['names', 'opaque']) {
    for (const one of CASES.filter(({ modes }) => !modes || modes.includes(mode))) {
        test(`${mode}: ${one.name}`, async () => {
            const shown = await show(mode, one);
            try {
                assert.deepEqual(await shown.result(), one.gives);
                for (const wanted of one.asks) await asked(wanted);
                for (const never of one.never ?? []) {
                    assert.deepEqual(
                        archive.asked.concat(archive.strays).filter(url => url.includes(never)),
                        [],
                    );
                }
                if (one.tells) {
                    await shown.page.waitForFunction(
                        tells =>
                            messages.some(message =>
                                Object.entries(tells).every(([name, value]) => message[name] === value),
                            ),
                        { stamp: STAMP, ...one.tells },
                    );
                }
                if (one.check) assert.ok(await one.check(shown));
                assert.deepEqual(archive.strays, [], 'a request went astray');
                assert.deepEqual(trap.seen, []);
            } finally {
                await shown.context.close();
            }
        });
    }
    for (const one of NAVIGATIONS.filter(({ both }) => both || mode === 'names')) {
        test(`${mode}: ${one.name}`, async () => {
            const shown = await show(mode, {
                ...one,
                script: `await new Promise(done => addEventListener('load', done)); setTimeout(() => { ${one.script} })`,
            });
            try {
                // The redirect between labels is asked for twice; what counts is the document that arrives.
                await asked(one.arrives);
                const label = mode === 'names' ? labelOf(one.arrives) + '.herodotus.localhost' : '127.0.0.1';
                await shown.frame.waitForURL(
                    url => url.hostname === label && url.href.includes(`/web/${STAMP}/${one.arrives}`),
                );
                assert.deepEqual(archive.strays, []);
                assert.deepEqual(trap.seen, []);
            } finally {
                await shown.context.close();
            }
        });
    }
}

test('frames of a frameset lead each other by name, across sites, and to the top', async () => {
    const shown = await show('names', {
        body: '<iframe name=menu></iframe><iframe name=main></iframe>',
        script: `document.querySelector('[name=menu]').src = 'http://menu.example/menu.html'; document.querySelector('[name=main]').src = '/start.html';`,
        pages: {
            'http://menu.example/menu.html':
                '<!doctype html><title>m</title><a id=one href="/chapter.html" target=main>1</a><a id=two href="/top.html" target=_top>2</a>',
        },
    });
    const menu = await until(
        shown.page,
        'framenavigated',
        () => shown.page.frames().find(frame => frame.url().includes('menu.html')),
        'the menu',
    );
    await menu.click('#one');
    await until(
        shown.page,
        'framenavigated',
        () =>
            shown.page
                .frames()
                .some(frame => frame.name() === 'main' && frame.url().includes('http://menu.example/chapter.html')),
        'the chapter',
    );
    await menu.click('#two');
    await shown.frame.waitForURL(/http:\/\/menu\.example\/top\.html/);
    assert.deepEqual(trap.seen, []);
    await shown.context.close();
});

test('where the browser gives a frame of another site no storage, scripts find one all the same', async () => {
    const shown = await show(
        'names',
        { script: `localStorage.setItem('a', 'b'); return [localStorage.a, 'caches' in window, typeof indexedDB]` },
        { ui: 'opaque' },
    );
    assert.deepEqual(await shown.result(), ['b', false, 'undefined']);
    await shown.context.close();
});

test('the service worker takes what nobody rewrote to the site and day of its page', async () => {
    // In strict mode the server answers no stray: only the worker can.
    const shown = await show(
        'names',
        {
            script: '',
            pages: {
                'http://site.example/deep.css': { type: 'text/css', body: 'p { background: url("/stray.png") }' },
            },
        },
        { strict: true },
    );
    await shown.result();
    const worker = shown.context.serviceWorkers()[0] ?? (await shown.context.waitForEvent('serviceworker'));
    assert.match(worker.url(), /\/herodotus\/sw\.js$/);
    await worker.evaluate(async () => {
        const state = () => self.registration.active?.state;
        while (state() !== 'activated') {
            const next = self.registration.active ?? self.registration.waiting ?? self.registration.installing;
            await new Promise(done => next.addEventListener('statechange', done, { once: true }));
        }
        await self.clients.claim();
    });
    // A style sheet as the server would not leave it: its root-relative URL leads to the root of our own origin.
    await shown.frame.evaluate(async () => {
        const link = Object.assign(document.createElement('link'), { rel: 'stylesheet', href: '/deep.css' });
        await new Promise((done, failed) => {
            link.onload = done;
            link.onerror = failed;
            document.head.append(link);
        });
        document.body.append(Object.assign(document.createElement('p'), { textContent: 'x' }));
    });
    await asked('im_ http://site.example/stray.png');
    // By the referrer, where the asking page has no address of its own; another site's URL; a body that must not be lost.
    const status = await worker.evaluate(async stamp => {
        const referrer = `${location.origin}/web/${stamp}if_/http://site.example/dir/page.html`;
        const ask = async (url, options) => {
            const request = new Request(url, { referrer, ...options });
            return (await answer({ request, clientId: '' }, new URL(request.url))).status;
        };
        return [
            await ask('/posted.json?x=1', { method: 'POST', body: 'x' }),
            await ask('http://cdn.example/other.json'),
        ];
    }, STAMP);
    assert.deepEqual(status, [200, 200]);
    await asked('oe_ http://site.example/posted.json?x=1');
    await asked('oe_ http://cdn.example/other.json');
    assert.deepEqual(archive.strays, []);
    assert.deepEqual(trap.seen, []);
    await shown.context.close();
});

test('the service worker refuses what it cannot place, and asks nobody', async () => {
    const shown = await show('names', { script: '' });
    await shown.result();
    const worker = shown.context.serviceWorkers()[0] ?? (await shown.context.waitForEvent('serviceworker'));
    const told = await worker.evaluate(async () => {
        const unknown = await answer(
            { request: new Request('http://live.example/x'), clientId: '' },
            new URL('http://live.example/x'),
        );
        const fetched = await fetch('http://live.example/y').then(
            () => 'came',
            () => 'refused',
        );
        return [unknown.type, fetched];
    });
    assert.deepEqual(told, ['error', 'refused']);
    assert.deepEqual(trap.seen, []);
    await shown.context.close();
});
