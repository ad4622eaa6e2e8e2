// Pages that use each feature replay has to carry: crawled by the program, the site switched off, replayed by the program
// in Chromium. Each must work as it did; the browser may ask nobody but the archive, and the live web must hear nothing.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { launchBrowser, recordNetwork, startTrap, until } from './harness.js';
import { NAME, SKIP, crawl, otherAddress, startServer, startSite, workshop } from './server.js';
import { PAGES, SITE } from './sites.js';

const ELSEWHERE = otherAddress();
const MODES = {
    names: { host: NAME },
    opaque: { host: ELSEWHERE, skip: ELSEWHERE ? false : 'this machine has no address but loopback' },
};
if (MODES.opaque.skip) console.log(`skipped: ${MODES.opaque.skip}; pages without an origin are not checked`);
const shop = workshop();
let trap, server, browser;

before(async () => {
    if (SKIP) return;
    const site = await startSite(url => SITE[url.href]);
    // A crawl of one host takes from others what its pages embed, but not what only their scripts ask for.
    const seeds = ['http://site.example/', ...Object.keys(SITE).filter(url => !url.startsWith('http://site.example/'))];
    await crawl(shop.data, site.port, seeds, '--scope', 'host', '--exclude', 'live\\.example');
    // From here on nothing answers but the archive.
    await site.close();
    trap = await startTrap();
    server = await startServer(shop.data, { address: '0.0.0.0' });
    shop.later(() => server.close());
    const launched = await launchBrowser(trap, { own: [ELSEWHERE] });
    browser = launched.browser;
    shop.later(async () => {
        const names = await launched.close();
        await trap.close();
        assert.deepEqual(trap.seen, [], 'the live web heard from us');
        assert.deepEqual(names, [], 'names were looked up');
    });
});
after(() => shop.close());

/** Shows an archived URL in the viewer; `end` looks at every request there was, and closes it. */
async function show(mode, url) {
    const { host } = MODES[mode];
    const context = await browser.newContext();
    context.setDefaultTimeout(10_000);
    const tab = await context.newPage();
    const urls = recordNetwork(tab);
    const good = new Set();
    tab.on('response', response => {
        const original = /\/web\/\d+[a-z]*_?\/(.*)$/.exec(response.url());
        if (original && response.status() < 300) good.add(original[1]);
    });
    await tab.goto(`${server.ui(host)}/web/2099/${url}`, { waitUntil: 'load' });
    const frame = await (await tab.waitForSelector('iframe[data-frame]')).contentFrame();
    return {
        tab,
        frame,
        good,
        async end() {
            const strays = urls.filter(
                asked =>
                    /^(?:https?|wss?):/.test(asked) &&
                    !asked.startsWith(server.ui(host) + '/') &&
                    !server.isReplay(asked, host),
            );
            await context.close();
            assert.deepEqual(strays, [], 'requests to others');
            assert.deepEqual(trap.seen, [], 'the live web heard from us');
        },
    };
}

const at = (frame, url) =>
    frame.waitForURL(new RegExp(`/web/\\d{14}/${RegExp.escape?.(url) ?? url.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}$`));

for (const [mode, { skip }] of Object.entries(MODES)) {
    for (const one of PAGES) {
        test(`${mode}: ${one.about}`, { skip: SKIP || skip }, async () => {
            const url = `http://site.example/${one.path}`;
            const shown = await show(mode, url);
            const { tab, frame } = shown;
            try {
                const scripted = !one.reads && !one.frames;
                // A script may have given its page another address by now.
                if (!scripted) await at(frame, one.arrives ?? url);
                if (one.waits) await frame.waitForFunction(one.waits);
                if (one.frames) {
                    await frame.waitForLoadState('load');
                    const texts = frame
                        .childFrames()
                        .slice(0, one.frames.length)
                        .map(inner => inner.textContent('#x'));
                    assert.deepEqual(await Promise.all(texts), one.frames);
                } else if (scripted) {
                    await frame.waitForFunction(() => window.result);
                    assert.deepEqual(await frame.evaluate(() => window.result[0]), one.gives);
                } else {
                    const gives = mode === 'opaque' ? (one.givesOpaque ?? one.gives) : one.gives;
                    assert.deepEqual(await frame.evaluate(one.reads), gives);
                }
                for (const wanted of one.loads ?? []) {
                    await until(
                        tab,
                        'response',
                        () => shown.good.has(wanted),
                        `${wanted}, among:\n${[...shown.good].join('\n')}`,
                    );
                }
                if (one.address) {
                    await tab.waitForFunction(url => document.querySelector('#address').value === url, one.address);
                }
                if (one.clicks) {
                    await frame.click(one.clicks);
                    await at(frame, 'http://site.example/target.html');
                    await frame.waitForSelector('text=The target');
                    await tab.waitForFunction(
                        () => document.querySelector('#address').value === 'http://site.example/target.html',
                    );
                }
            } finally {
                await shown.end();
            }
        });
    }

    for (const id of ['relative', 'rooted', 'schemeless', 'absolute', 'redirected', 'top']) {
        test(`${mode}: a ${id} link leads to the target of that day`, { skip: SKIP || skip }, async () => {
            const shown = await show(mode, 'http://site.example/links.html');
            try {
                await shown.frame.click('#' + id);
                await shown.frame.waitForSelector('text=The target');
                await shown.tab.waitForFunction(
                    () => document.querySelector('#address').value === 'http://site.example/target.html',
                );
                assert.equal(await shown.tab.locator('iframe').count(), 1);
            } finally {
                await shown.end();
            }
        });
    }

    test(`${mode}: a form finds its archived answer`, { skip: SKIP || skip }, async () => {
        const shown = await show(mode, 'http://site.example/links.html');
        try {
            await shown.frame.evaluate(() => document.getElementById('get').requestSubmit());
            await shown.frame.waitForSelector('text=Found two words');
        } finally {
            await shown.end();
        }
    });

    test(`${mode}: a link to another archived site and back`, { skip: SKIP || skip }, async () => {
        const shown = await show(mode, 'http://site.example/links.html');
        try {
            const first = new URL(shown.frame.url()).hostname;
            await shown.frame.click('#other');
            await shown.frame.waitForSelector('text=Another site');
            assert.equal(new URL(shown.frame.url()).hostname === first, mode === 'opaque');
            await shown.frame.click('#back');
            await shown.frame.waitForSelector('text=The target');
            assert.equal(new URL(shown.frame.url()).hostname, first);
        } finally {
            await shown.end();
        }
    });

    for (const [what, act] of Object.entries({
        link: frame => frame.click('#live'),
        form: frame => frame.evaluate(() => document.getElementById('livepost').requestSubmit()),
    })) {
        test(
            `${mode}: a ${what} to what is not archived ends at a page that offers to archive it`,
            { skip: SKIP || skip },
            async () => {
                const shown = await show(mode, 'http://site.example/links.html');
                try {
                    await act(shown.frame);
                    await shown.frame.waitForURL(/\/web\/\d{14}\/http:\/\/live\.example\//);
                    await shown.frame.waitForSelector(
                        'text=/not (?:here|archived|in (?:the|this) archive)|no version|never archived/i',
                    );
                } finally {
                    await shown.end();
                }
            },
        );
    }
}
