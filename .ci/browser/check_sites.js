// A real documentation site with scripts (SciPy's, made with Sphinx, from Debian): crawled by the program, switched off, and
// replayed. Screenshots of the live and the replayed page may differ in fewer than DIFFERENT_MAX of their pixels, its search
// box and menu must work, and nobody but the archive may be asked.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { comparePng, launchBrowser, recordNetwork, startTrap } from './harness.js';
import { NAME, SKIP, crawl, startServer, startSite, workshop } from './server.js';

const DIFFERENT_MAX = 0.005;
const PAGES_COMPARED = 12;
const PAGES_CRAWLED = 60;
const SITE = 'http://docs.example/';
const WORD = 'splines';
// The documentation, and the scripts that it shares with others.
const PACKAGES = ['python-scipy-doc', 'libjs-sphinxdoc', 'libjs-jquery', 'libjs-underscore'];
const TYPES = {
    html: 'text/html; charset=utf-8',
    css: 'text/css',
    js: 'text/javascript',
    svg: 'image/svg+xml',
    png: 'image/png',
    json: 'application/json',
    woff: 'font/woff',
    woff2: 'font/woff2',
    ttf: 'font/ttf',
    ico: 'image/x-icon',
    jpg: 'image/jpeg',
    txt: 'text/plain',
};

/** The tree of the packages, fetched by name if it is not in the cache; or why not. Nothing of a package is run. */
function documentation() {
    const cache = process.env.HERODOTUS_CI_CACHE ?? path.join(os.homedir(), '.cache/herodotus-ci');
    const tree = path.join(cache, 'browser-docs');
    if (!fs.existsSync(path.join(tree, 'ready'))) {
        try {
            const part = path.join(cache, 'browser-docs.part');
            fs.rmSync(part, { recursive: true, force: true });
            fs.rmSync(tree, { recursive: true, force: true });
            fs.mkdirSync(part, { recursive: true });
            const options = { cwd: part, stdio: 'pipe', timeout: 120_000 };
            execFileSync('apt-get', ['download', '-qq', ...PACKAGES], options);
            for (const file of fs.readdirSync(part).filter(name => name.endsWith('.deb'))) {
                execFileSync('dpkg', ['-x', file, '.'], options);
                fs.rmSync(path.join(part, file));
            }
            fs.writeFileSync(path.join(part, 'ready'), '');
            fs.renameSync(part, tree);
        } catch {
            return { skip: `no Debian package ${PACKAGES[0]} could be had` };
        }
    }
    return { root: path.join(tree, 'usr/share/doc', PACKAGES[0], 'html') };
}

const docs = SKIP ? {} : documentation();
const skip = SKIP || docs.skip || false;
if (docs.skip) console.log(`skipped: ${docs.skip}; no real site was checked`);
const shop = workshop();
let trap, server, live, replay, pages;

/** A page's text asks for the formulas' scripts while it runs; no crawler that does not run scripts can have them. */
const isPlain = text => !/mathjax/i.test(text) && text.length < 200_000;

before(async () => {
    if (skip) return;
    const site = await startSite(url => {
        const file = path.join(docs.root, decodeURIComponent(url.pathname).replace(/\/$/, '/index.html'));
        if (!file.startsWith(docs.root + '/') || !fs.existsSync(file)) return null;
        return { type: TYPES[path.extname(file).slice(1)] ?? 'application/octet-stream', body: fs.readFileSync(file) };
    });
    const plain = fs
        .readdirSync(docs.root)
        .filter(name => name.endsWith('.html') && isPlain(fs.readFileSync(path.join(docs.root, name), 'utf8')))
        .sort();
    // Spread over the site, and the first page always.
    const others = plain.filter(name => name !== 'index.html');
    pages = [
        'index.html',
        ...Array.from(
            { length: PAGES_COMPARED - 1 },
            (_, at) => others[Math.floor((at * others.length) / (PAGES_COMPARED - 1))],
        ),
    ];
    const seeds = [...pages, 'search.html', `search.html?q=${WORD}`].map(name => SITE + name);
    await crawl(shop.data, site.port, seeds, '--scope', 'host', '--limit', String(PAGES_CRAWLED));
    // The live page is shown by a browser for which the live web is this site.
    const first = await launchBrowser({ port: site.port });
    live = await look(await first.browser.newContext(), async tab => {
        const shots = {};
        for (const name of pages) {
            await tab.goto(SITE + name);
            shots[name] = await shot(tab, tab.mainFrame());
        }
        await tab.goto(`${SITE}search.html?q=${WORD}`);
        return { shots, found: await found(tab.mainFrame()) };
    });
    await first.close();
    await site.close();
    trap = await startTrap();
    server = await startServer(shop.data);
    shop.later(() => server.close());
    const second = await launchBrowser(trap);
    replay = second.browser;
    shop.later(async () => {
        const names = await second.close();
        await trap.close();
        assert.deepEqual(trap.seen, [], 'the live web heard from us');
        assert.deepEqual(names, [], 'names were looked up');
    });
});
after(() => shop.close());

async function look(context, act) {
    context.setDefaultTimeout(20_000);
    const tab = await context.newPage();
    await tab.setViewportSize({ width: 1280, height: 900 });
    const urls = recordNetwork(tab);
    try {
        return await act(tab, urls);
    } finally {
        await context.close();
    }
}

/** What one sees when everything is there. */
async function shot(tab, frame) {
    await frame.waitForLoadState('load');
    await frame.evaluate(async () => {
        await document.fonts.ready;
        await Promise.all(
            [...document.images].map(
                image =>
                    image.complete ||
                    new Promise(done => {
                        image.onload = image.onerror = done;
                    }),
            ),
        );
        await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
    });
    return tab.screenshot({ animations: 'disabled', caret: 'hide' });
}

/** Titles and number of the search's results, when it says that it is done. */
async function found(frame) {
    await frame.waitForSelector('#search-results p.search-summary >> text=/found|match/i');
    await frame.waitForFunction(() => document.querySelectorAll('ul.search li > a').length > 0);
    await frame.waitForFunction(() => {
        const said = /(\d+)/.exec(document.querySelector('p.search-summary').textContent);
        return said && document.querySelectorAll('ul.search li > a').length >= Number(said[1]);
    });
    return frame.$$eval('ul.search li > a', links => links.map(link => link.textContent));
}

/** A page of the archive without our bar, as large as the live one. */
async function open(tab, name) {
    await tab.goto(`${server.ui()}/web/2099/${SITE}${name}`);
    const frame = await (await tab.waitForSelector('iframe[data-frame]')).contentFrame();
    if (await tab.isVisible('.banner')) await tab.click('.tools label[for=hide]');
    await tab.evaluate(() => document.querySelector('.peek').remove());
    await tab.mouse.move(0, 0);
    return frame;
}

const strays = urls =>
    urls.filter(url => /^(?:http|ws)/.test(url) && !url.startsWith(server.ui() + '/') && !server.isReplay(url));

test(
    `${PAGES_COMPARED} pages look as they did, but for ${DIFFERENT_MAX * 100} % of their pixels`,
    { skip },
    async () => {
        await look(await replay.newContext(), async (tab, urls) => {
            const told = [];
            for (const name of pages) {
                const frame = await open(tab, name);
                const { fraction, different } = comparePng(live.shots[name], await shot(tab, frame));
                told.push([name, fraction]);
                if (process.env.HERODOTUS_SHOTS)
                    console.log(`${name}: ${different} pixels differ, ${(fraction * 100).toFixed(4)} %`);
            }
            // Two pages of one site do differ: the comparison is not of blank ones.
            assert.ok(comparePng(live.shots[pages[0]], live.shots[pages[1]]).fraction > 4 * DIFFERENT_MAX);
            assert.deepEqual(
                told.filter(([, fraction]) => fraction >= DIFFERENT_MAX),
                [],
            );
            assert.deepEqual(strays(urls), []);
        });
    },
);

test('the search box of a replayed page finds what it found', { skip }, async () => {
    await look(await replay.newContext(), async (tab, urls) => {
        const frame = await open(tab, 'index.html');
        await frame.fill('#search-input', WORD);
        await frame.press('#search-input', 'Enter');
        await frame.waitForURL(/search\.html\?q=/);
        const titles = await found(frame);
        assert.ok(titles.length > 3, `${titles.length} results`);
        assert.deepEqual(titles, live.found);
        assert.deepEqual(strays(urls), []);
    });
});

test('the menu of a replayed page opens and closes on a phone', { skip }, async () => {
    await look(await replay.newContext(), async (tab, urls) => {
        await tab.setViewportSize({ width: 500, height: 800 });
        const frame = await open(tab, 'getting_started.html');
        await frame.waitForSelector('#navbar-collapsible', { state: 'hidden' });
        await frame.click('.navbar-toggler');
        await frame.waitForSelector('#navbar-collapsible.show', { state: 'visible' });
        await frame.click('.navbar-toggler');
        await frame.waitForSelector('#navbar-collapsible', { state: 'hidden' });
        assert.deepEqual(strays(urls), []);
    });
});

test('a reader walks by its links from page to page', { skip }, async () => {
    await look(await replay.newContext(), async (tab, urls) => {
        const frame = await open(tab, 'index.html');
        await frame.click('a[href$="getting_started.html"] >> nth=0');
        await frame.waitForURL(/getting_started\.html/);
        await tab.waitForFunction(() => document.querySelector('#address').value.endsWith('getting_started.html'));
        assert.deepEqual(strays(urls), []);
    });
});
