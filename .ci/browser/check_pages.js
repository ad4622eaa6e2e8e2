// The pages for people, of the program itself: found by keyboard and mouse, on a wide screen and a phone's, light and dark,
// and a crawl that is started from the home page and watched to its end. No page of ours may raise an error or ask anybody else.

import assert from 'node:assert/strict';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { launchBrowser, recordNetwork, startTrap, until } from './harness.js';
import { NAME, SKIP, run, startServer, startSite, workshop, writeWarc } from './server.js';

const MUSEUM = 'http://museum.example/';
const shop = workshop();
let trap, server, site, browser;

const halls = ['Ceramics', 'Coins', 'Maps'];
/** As the museum was on a day; the text changes with every version, and is long enough to scroll. */
const museum = (day, at) => ({
    url: MUSEUM,
    time: `${day}T12:00:00Z`,
    body: `<!doctype html><meta name="viewport" content="width=device-width"><title>Museum of things</title><h1>Museum</h1>
        <p>Exhibits: ${100 + at}</p><p>Opened by ${at % 2 ? 'Anna' : 'Boris'}</p>
        ${halls.map(hall => `<a href="/halls/${hall.toLowerCase()}/">${hall}</a>`).join(' ')}
        ${Array.from({ length: 80 }, (_, line) => `<p>Exhibit ${line} of a long list${line === 40 ? ', version ' + at : ''}</p>`).join('\n')}`,
});
const DAYS = ['2019-06-01', '2021-03-01', '2021-03-02', '2021-03-20', '2021-04-02', '2021-11-30', '2023-01-15'];

before(async () => {
    if (SKIP) return;
    const file = path.join(shop.folder, 'museum.warc');
    writeWarc(file, [
        ...DAYS.map(museum),
        ...halls.flatMap((hall, at) =>
            ['2019-06-01', '2021-04-02'].map(day => ({
                url: `${MUSEUM}halls/${hall.toLowerCase()}/`,
                time: `${day}T12:00:0${at + 1}Z`,
                body: `<!doctype html><title>Hall of ${hall.toLowerCase()}</title><h1>${hall}</h1><p>As of ${day}</p><a href="/">home</a>`,
            })),
        ),
        {
            url: `${MUSEUM}logo.svg`,
            time: '2021-03-01T12:00:09Z',
            type: 'image/svg+xml',
            body: '<svg xmlns="http://www.w3.org/2000/svg"/>',
        },
        { url: `${MUSEUM}gone.html`, time: '2021-03-01T12:00:09Z', status: 404, body: '<title>Gone</title>gone' },
    ]);
    await run('import', '--data', shop.data, file);
    // Each page of it links to the next, and waits until it is told: a crawl that one can watch.
    const held = [];
    let open = false;
    site = await startSite(async url => {
        if (url.pathname === '/robots.txt') return null;
        const number = Number(/^\/page(\d)$/.exec(url.pathname)?.[1] ?? 0);
        if (number > 4 || (number === 0 && url.pathname !== '/')) return null;
        if (number === 3 && !open) await new Promise(go => held.push(go));
        return {
            body: `<!doctype html><title>Page ${number} of a new site</title><a href="/page${number + 1}">next</a>`,
        };
    });
    site.open = () => {
        open = true;
        for (const go of held) go();
    };
    shop.later(() => {
        site.open();
        return site.close();
    });
    server = await startServer(shop.data, {
        args: [
            '--allow-private',
            '127.0.0.0/8',
            '--connect-to',
            `*.example=127.0.0.1:${site.port}`,
            '--contact',
            'checks@example.org',
        ],
    });
    shop.later(() => server.close());
    trap = await startTrap();
    const launched = await launchBrowser(trap);
    browser = launched.browser;
    shop.later(async () => {
        const names = await launched.close();
        await trap.close();
        assert.deepEqual(trap.seen, []);
        assert.deepEqual(names, []);
    });
});
after(() => shop.close());

/** A test with a tab of its own, in which every error of our scripts and every request to others counts. */
function check(name, act, options = {}) {
    test(name, { skip: SKIP }, async () => {
        const { host = NAME, ...rest } = options;
        const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...rest });
        context.setDefaultTimeout(10_000);
        const tab = await context.newPage();
        const errors = [];
        tab.on('pageerror', error => errors.push(error.message));
        const urls = recordNetwork(tab);
        try {
            await act(tab, server.ui(host));
            assert.deepEqual(errors, []);
            const replayHost = host === '127.0.0.1' ? 'localhost' : host;
            assert.deepEqual(
                urls.filter(
                    url =>
                        /^http/.test(url) &&
                        !url.startsWith(server.ui(host) + '/') &&
                        !server.isReplay(url, replayHost),
                ),
                [],
            );
        } finally {
            await context.close();
        }
    });
}

const focused = tab => tab.evaluate(() => document.activeElement.dataset.day ?? document.activeElement.id);
const addressIs = (tab, url) => tab.waitForFunction(url => document.querySelector('#address').value === url, url);
const frameOf = async tab => (await tab.waitForSelector('iframe[data-frame]')).contentFrame();

check('/ goes to the search box, Escape leaves it', async (tab, ui) => {
    await tab.goto(ui + '/crawls');
    await tab.keyboard.press('/');
    assert.equal(await focused(tab), 'q');
    await tab.keyboard.press('Escape');
    assert.notEqual(await focused(tab), 'q');
});

check('an address leads to its calendar, words to titles, a prefix to what lies under it', async (tab, ui) => {
    await tab.goto(ui + '/');
    await tab.fill('#q', 'museum.example/');
    await tab.keyboard.press('Enter');
    await tab.waitForURL(url => url.pathname.startsWith('/web/*/'));
    await tab.goto(ui + '/');
    await tab.fill('#q', 'ceramics hall');
    await tab.keyboard.press('Enter');
    await tab.waitForURL(/\/search\?/);
    await tab.waitForSelector('main >> text=Hall of ceramics');
    await tab.fill('#q', 'museum.example/halls/*');
    await tab.keyboard.press('Enter');
    for (const hall of ['ceramics', 'coins', 'maps']) await tab.waitForSelector(`main >> text=halls/${hall}`);
});

check('the calendar is walked by arrows and opened by Enter', async (tab, ui) => {
    await tab.goto(`${ui}/web/2021*/${MUSEUM}`);
    await tab.locator('a[data-day]').first().focus();
    const walked = [await focused(tab)];
    for (const key of ['ArrowRight', 'ArrowDown', 'ArrowLeft', 'End', 'ArrowUp', 'Home']) {
        await tab.keyboard.press(key);
        walked.push(await focused(tab));
    }
    assert.deepEqual(walked, [
        '2021-03-01',
        '2021-03-02',
        '2021-03-20',
        '2021-03-02',
        '2021-11-30',
        '2021-04-02',
        '2021-03-01',
    ]);
    await tab.keyboard.press('Enter');
    await tab.waitForURL(`${ui}/web/20210301120000/${MUSEUM}`);
});

check('another year, and the list of versions', async (tab, ui) => {
    await tab.goto(`${ui}/web/*/${MUSEUM}`);
    await tab.click('.year >> text=2021');
    assert.match(await tab.getAttribute('.year[aria-current]', 'aria-label'), /^2021: 5 versions/);
    assert.equal(await tab.locator('a[data-day]').count(), 5);
    await tab.click('.year >> text=2019');
    assert.equal(await tab.locator('a[data-day]').count(), 1);
});

check('a moment leads to the version that was then, and what came before the first is said', async (tab, ui) => {
    await tab.goto(`${ui}/web/20210310/${MUSEUM}`);
    assert.match(tab.url(), /\/web\/20210302120000\//);
    await tab.goto(`${ui}/web/2001/${MUSEUM}`);
    await tab.waitForSelector('text=There is no version from');
});

check('replay: links inside take the bar and the address along, back comes back', async (tab, ui) => {
    await tab.goto(`${ui}/web/2021/${MUSEUM}`);
    const frame = await frameOf(tab);
    await frame.click('text=Ceramics');
    await addressIs(tab, `${MUSEUM}halls/ceramics/`);
    await tab.waitForFunction(() => document.title.startsWith('Hall of ceramics'));
    assert.match(tab.url(), /\/web\/20210402120001\/http:\/\/museum\.example\/halls\/ceramics\/$/);
    assert.match(await tab.getAttribute('.tools a >> nth=0', 'href'), /halls\/ceramics/);
    await tab.goBack();
    await addressIs(tab, MUSEUM);
    await frame.waitForSelector('text=Exhibits: 105');
});

check('banner: arrows and buttons go to the version before and after', async (tab, ui) => {
    await tab.goto(`${ui}/web/20210320120000/${MUSEUM}`);
    await (await frameOf(tab)).waitForSelector('text=Exhibits: 103');
    await tab.click('[data-step=prev]');
    await tab.waitForURL(/20210302120000/);
    await (await frameOf(tab)).waitForSelector('text=Exhibits: 102');
    await tab.locator('.shown').focus();
    await tab.keyboard.press('ArrowRight');
    await tab.waitForURL(/20210320120000/);
    await tab.goto(`${ui}/web/2019/${MUSEUM}`);
    assert.equal(await tab.locator('[data-step=prev]').count(), 0);
});

check('banner: one click hides it, and it stays hidden; one brings it back; Escape does both', async (tab, ui) => {
    await tab.goto(`${ui}/web/2021/${MUSEUM}`);
    const height = () => tab.evaluate(() => document.querySelector('iframe').getBoundingClientRect().height);
    assert.ok((await height()) < 900);
    await tab.click('.tools label[for=hide]');
    await tab.waitForSelector('.banner', { state: 'hidden' });
    assert.equal(await height(), 900);
    await tab.reload();
    await tab.waitForSelector('.banner', { state: 'hidden' });
    await tab.click('.peek');
    await tab.waitForSelector('.banner', { state: 'visible' });
    await tab.locator('.shown').focus();
    await tab.keyboard.press('Escape');
    await tab.waitForSelector('.banner', { state: 'hidden' });
    await tab.keyboard.press('Escape');
    await tab.waitForSelector('.banner', { state: 'visible' });
});

check('banner: another address at this date, and downloads', async (tab, ui) => {
    await tab.goto(`${ui}/web/2022/${MUSEUM}`);
    await tab.fill('#address', 'museum.example/halls/maps/');
    await tab.keyboard.press('Enter');
    await tab.waitForURL(/\/web\/20210402120003\/http:\/\/museum\.example\/halls\/maps\//);
    await tab.click('summary[title=Download]');
    const [download] = await Promise.all([tab.waitForEvent('download'), tab.click('text=WARC record')]);
    assert.match(await new Response(await download.createReadStream()).text(), /^WARC\/1\.[01]\r\n/);
});

check('messages that do not come from the frame change nothing', async (tab, ui) => {
    await tab.goto(`${ui}/web/2021/${MUSEUM}`);
    const frame = await frameOf(tab);
    await frame.waitForSelector('text=Ceramics');
    await tab.evaluate(() =>
        window.postMessage(
            { herodotus: 1, kind: 'at', url: 'http://evil.example/', stamp: '20200101000000', title: 'evil' },
            '*',
        ),
    );
    // Later messages of the frame are shown; had the first counted, it would have been asked for as well.
    const urls = recordNetwork(tab);
    await frame.click('text=Coins');
    await addressIs(tab, `${MUSEUM}halls/coins/`);
    assert.deepEqual(
        urls.filter(url => url.includes('evil')),
        [],
    );
});

check(
    'difference: two versions chosen in either order, side by side, inline, from change to change',
    async (tab, ui) => {
        await tab.goto(`${ui}/web/*/${MUSEUM}`);
        await tab.check('input[name=from] >> nth=0');
        await tab.check('input[name=to] >> nth=2');
        await tab.click('text=Compare');
        await tab.waitForURL(url => url.pathname === '/diff');
        assert.match(await tab.textContent('h1'), /What changed/);
        const changes = await tab.locator('[data-change]').count();
        assert.ok(changes >= 2, `${changes}`);
        await tab.keyboard.press('n');
        await tab.keyboard.press('n');
        assert.equal(await tab.textContent('[data-jump-at]'), `2 of ${changes}`);
        await tab.click('a >> text=In one column');
        await tab.waitForURL(/view=inline/);
        await tab.waitForSelector('[data-change] >> text=Exhibits: 106');
        await tab.waitForSelector('[data-change] >> text=Exhibits: 104');
    },
);

for (const host of [NAME, '127.0.0.1']) {
    check(
        `difference: as rendered, two pages scroll as one (${host})`,
        async (tab, ui) => {
            await tab.goto(
                `${ui}/diff?url=${encodeURIComponent(MUSEUM)}&from=20210301120000&to=20230115120000&view=rendered`,
            );
            const [one, other] = await Promise.all(
                (await tab.locator('[data-frames] iframe').elementHandles()).map(frame => frame.contentFrame()),
            );
            await one.waitForSelector('text=Exhibits: 101');
            await other.waitForSelector('text=Exhibits: 106');
            await Promise.all([one, other].map(frame => frame.waitForLoadState('load')));
            await one.evaluate(() => scrollTo(0, document.documentElement.scrollHeight / 2));
            await other.waitForFunction(() => scrollY > innerHeight);
            await other.evaluate(() => scrollTo(0, 0));
            await one.waitForFunction(() => scrollY === 0);
        },
        { host },
    );
}

check('the host page: tree, kinds, months', async (tab, ui) => {
    await tab.goto(`${ui}/host/museum.example`);
    for (const text of ['What lies here', 'Versions over time', 'Kinds', 'Answers of the server'])
        await tab.waitForSelector(`h2 >> text=${text}`);
    await tab.click('main >> text=/^halls/');
    await tab.waitForSelector('main >> text=ceramics');
});

check('an archive alone says how a ring is made, and no page leads there', async (tab, ui) => {
    await tab.goto(ui + '/ring');
    assert.deepEqual(await tab.locator('main pre code').allTextContents(), [
        'herodotus ring create',
        'herodotus ring invite',
        'herodotus node --join TICKET',
    ]);
    assert.equal(await tab.locator('header a[href="/ring"]').count(), 0);
});

check('a crawl is started on the home page and watched, without a click, until it is complete', async (tab, ui) => {
    await tab.goto(ui + '/');
    await tab.fill('#seeds', 'http://fresh.example/');
    await tab.click('button >> text=/^Archive/');
    await tab.waitForURL(url => url.pathname === '/crawls/fresh.example');
    const loaded = await tab.evaluate(() => performance.timeOrigin);
    // Page 3 is held back: the crawl cannot end before we have seen it run.
    await tab.waitForSelector('[data-live=work] >> text=fresh.example/page2', { timeout: 30_000 });
    assert.doesNotMatch(await tab.textContent('[data-live=head]'), /complete/i);
    site.open();
    await tab.waitForSelector('[data-live=head] >> text=/complete/i', { timeout: 30_000 });
    assert.equal(await tab.evaluate(() => performance.timeOrigin), loaded, 'the page was loaded anew');
    await tab.goto(`${ui}/web/2099/http://fresh.example/page4`);
    assert.equal(await (await frameOf(tab)).title(), 'Page 4 of a new site');
});

check('a missing page offers to archive it, and does', async (tab, ui) => {
    await tab.goto(`${ui}/web/2024/http://fresh.example/page4?new`);
    await tab.click('button >> text=/^Archive it now/');
    await tab.waitForURL(/\/crawls\//);
    await tab.waitForSelector('[data-live=head] >> text=/complete/i', { timeout: 30_000 });
    await tab.goto(`${ui}/web/*/http://fresh.example/page4?new`);
    await tab.waitForSelector('a[data-day]');
});

check(
    'the theme follows the system, changes by button, and is remembered',
    async (tab, ui) => {
        const brightness = async () => {
            const color = await tab.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
            return (
                color
                    .match(/[\d.]+/g)
                    .slice(0, 3)
                    .reduce((sum, part) => sum + Number(part), 0) / 3
            );
        };
        for (const address of [
            '/',
            `/web/*/${MUSEUM}`,
            `/diff?url=${MUSEUM}&from=20210301120000&to=20230115120000`,
            '/host/museum.example',
            '/crawls',
            '/ring',
        ]) {
            await tab.goto(ui + address);
            assert.ok((await brightness()) < 70, `${address} is not dark: ${await brightness()}`);
        }
        await tab.click('[data-theme-button]');
        assert.ok((await brightness()) > 200);
        await tab.reload();
        assert.ok((await brightness()) > 200);
    },
    { colorScheme: 'dark' },
);

for (const host of [NAME, '127.0.0.1']) {
    check(
        `on a phone no page is wider than the screen (${host})`,
        async (tab, ui) => {
            for (const address of [
                '/',
                '/search?q=hall',
                `/web/*/${MUSEUM}`,
                `/web/2021/${MUSEUM}`,
                '/host/museum.example',
                '/crawls',
                '/crawls/fresh.example',
                '/ring',
                `/web/2021/http://museum.example/not/here/${'long'.repeat(60)}`,
                ...['side', 'inline', 'rendered'].map(
                    view => `/diff?url=${MUSEUM}&from=20210301120000&to=20230115120000&view=${view}`,
                ),
            ]) {
                await tab.goto(ui + address);
                const width = await tab.evaluate(() => document.documentElement.scrollWidth);
                assert.equal(width, 390, `${address} is ${width} wide`);
            }
        },
        { host, viewport: { width: 390, height: 800 }, hasTouch: true, isMobile: true },
    );
}

check(
    'without scripts: calendar, comparison, bar, another address',
    async (tab, ui) => {
        await tab.goto(`${ui}/web/*/${MUSEUM}`);
        await tab.click('text=Compare');
        assert.match(tab.url(), /\/diff\?/);
        await tab.goto(`${ui}/web/2021/${MUSEUM}`);
        await tab.click('.tools label[for=hide]');
        await tab.waitForSelector('.banner', { state: 'hidden' });
        await tab.click('.peek');
        await tab.fill('#address', 'museum.example/halls/coins/');
        await tab.keyboard.press('Enter');
        await tab.waitForURL(/halls\/coins/);
    },
    { javaScriptEnabled: false },
);
