// The service worker of one replay origin (names mode): catches requests that neither the server's rewriting nor
// replay.js saw, and sends them into the archive. It promises that nothing goes anywhere else: what it cannot place is
// refused, and its own Content-Security-Policy would stop it if it tried. Losing it loses only fidelity.

const MODIFIERS = {
    document: '',
    iframe: 'if_',
    frame: 'fr_',
    image: 'im_',
    script: 'js_',
    style: 'cs_',
    worker: 'wkr_',
    sharedworker: 'wkr_', // the rest, fetch among it, is `oe_`
};
const HOME = self.location.origin;
// Of every replay origin: the scheme, then the name that follows the site's own label, with the port.
const [, SCHEME, SHARED] = /^(https?:\/\/)[^.]+(\..+)$/.exec(HOME) ?? [null, HOME, ''];
const ARCHIVED = /^\/web\/(\d{1,14})(?:[a-z]+_)?\/(https?:\/\/?[^/?#]+)/;

// A new version takes over at once: pages must not be split between two.
self.addEventListener('install', () => self.skipWaiting());
self.addEventListener('activate', event => event.waitUntil(self.clients.claim()));

self.addEventListener('fetch', event => {
    const url = new URL(event.request.url);
    const ours = url.origin === HOME || (SHARED && url.origin.startsWith(SCHEME) && url.origin.endsWith(SHARED));
    if (ours && /^\/(?:web|herodotus)\//.test(url.pathname)) return;
    if (!/^https?:$/.test(url.protocol)) return;
    event.respondWith(answer(event, url));
});

async function answer({ request, clientId }, url) {
    const place = (await placeOf(clientId, request)) ?? {};
    // A stray of our own that no page explains is the server's to judge; anything else has no place to go.
    if (!place.stamp) return url.origin === HOME ? fetch(request) : Response.error();
    const original = url.origin === HOME ? place.origin + url.pathname + url.search : url.href;
    const target = `${HOME}/web/${place.stamp}${MODIFIERS[request.destination] ?? 'oe_'}/${original}`;
    // 307 keeps a form's method and body.
    if (request.mode === 'navigate') return Response.redirect(target, 307);
    const { method, headers } = request;
    const body = /^(?:GET|HEAD)$/.test(method) ? undefined : await request.blob();
    return fetch(target, { method, headers, body, credentials: 'same-origin' });
}

// Which site and day the asking page shows, by its own address or, where it has none (about:blank, blob:), its referrer.
async function placeOf(clientId, request) {
    const client = clientId && (await self.clients.get(clientId));
    for (const from of [client?.url, request.referrer]) {
        if (!from?.startsWith(HOME + '/')) continue;
        const found = ARCHIVED.exec(from.slice(HOME.length));
        if (found) return { stamp: found[1], origin: found[2] };
    }
}
