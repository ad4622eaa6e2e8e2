// An archive made for the client script's tests: two listeners as the real server has (pages for people, replay), the
// same URLs, policy and isolation modes, and of the rewriting only the script tag. What is not given is invented by its
// file extension, so that a test names only what matters to it.

import crypto from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import fs from 'node:fs';
import http from 'node:http';
import { launchBrowser, startTrap } from './harness.js';

export const STAMP = '20260102030405';
const ASSETS = new URL('../../crates/web/assets/', import.meta.url);
const PIXEL = Buffer.from(
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
    'base64',
);
const MADE = {
    js: ['text/javascript', url => `(self.loaded ??= []).push(${JSON.stringify(url)});`],
    css: ['text/css', () => 'p { color: rgb(1, 2, 3) }'],
    png: ['image/png', () => PIXEL],
    json: ['application/json', url => JSON.stringify({ url })],
    html: ['text/html', url => `<!doctype html><title>${url}</title><p>${url}`],
    txt: ['text/plain', url => url],
};

export const labelOf = url => 'h' + crypto.createHash('sha256').update(new URL(url).origin).digest('hex').slice(0, 16);

/** An archive, a browser to look at it, and the trap around; `close()` gives the names of the live web that were looked up. */
export async function startStage() {
    const trap = await startTrap();
    const archive = await startArchive();
    const launched = await launchBrowser(trap);
    return {
        trap,
        archive,
        browser: launched.browser,
        async close() {
            const names = await launched.close();
            await archive.close();
            await trap.close();
            return names;
        },
    };
}

/**
 * `pages`: original URL → HTML, or { type, body, status, headers, bare }; a bare one comes without our script. Emits `request` for each one that reached replay and
 * is remembered in `asked` as `<modifier> <url>`; `strays` are those outside /web/. With `strict`, the server leaves strays
 * to the service worker.
 */
async function startArchive(pages = {}) {
    const events = new EventEmitter();
    const asked = [];
    const strays = [];
    const archive = { asked, strays, events, pages, strict: false };
    const ui = http.createServer((request, response) => viewer(request, response));
    const replay = http.createServer((request, response) => serve(request, response));
    ui.listen(0, '127.0.0.1');
    replay.listen(0, '127.0.0.1');
    await Promise.all([once(ui, 'listening'), once(replay, 'listening')]);
    const uiPort = ui.address().port;
    // The viewer and replay are one site to the browser, which may refuse storage and service workers to others' frames.
    const uis = { names: `http://herodotus.localhost:${uiPort}`, opaque: `http://127.0.0.1:${uiPort}` };
    const port = replay.address().port;
    const hosts = { names: url => `${labelOf(url)}.herodotus.localhost:${port}`, opaque: () => `127.0.0.1:${port}` };
    const allowed = `http://*.herodotus.localhost:${port} http://127.0.0.1:${port}`;

    function viewer(request, response) {
        const [, mode, stamp, url] = /^\/(names|opaque)\/web\/(\d+)\/(.*)$/.exec(request.url) ?? [];
        if (!mode) return response.writeHead(404).end();
        const inner = `http://${hosts[mode](url)}/web/${stamp}/${url}`;
        response.writeHead(200, {
            'content-type': 'text/html; charset=utf-8',
            'content-security-policy': `default-src 'self' 'unsafe-inline'; frame-src ${allowed}`,
        });
        response.end(`<!doctype html><title>viewer</title>
            <iframe sandbox="allow-scripts allow-same-origin allow-forms allow-modals allow-downloads" width="800" height="500"></iframe>
            <script>
                window.messages = [];
                const frame = document.querySelector('iframe');
                addEventListener('message', event => {
                    const { data } = event;
                    if (event.source !== frame.contentWindow || data?.herodotus !== 1) return;
                    messages.push({ kind: String(data.kind), url: String(data.url), stamp: String(data.stamp), title: String(data.title) });
                    if (messages.length > 200) messages.shift();
                });
                frame.src = ${JSON.stringify(inner).replace(/</g, '\\u003c')};
            </script>`);
    }

    function serve(request, response) {
        const host = request.headers.host;
        const mode = host.startsWith('h') ? 'names' : 'opaque';
        const headers = {
            'content-security-policy': policy(mode),
            'cache-control': 'no-store',
            'x-content-type-options': 'nosniff',
        };
        if (mode === 'opaque') headers['access-control-allow-origin'] = '*';
        const own = /^\/herodotus\/(replay|sw)\.js$/.exec(request.url);
        if (own) {
            if (own[1] === 'sw') headers['service-worker-allowed'] = '/';
            response.writeHead(200, { ...headers, 'content-type': 'text/javascript' });
            return response.end(fs.readFileSync(new URL(`${own[1]}.js`, ASSETS)));
        }
        if (request.url === '/herodotus/nowhere') return response.writeHead(404, headers).end();
        const found = /^\/web\/(\d{1,14})([a-z]+_)?\/(https?:\/\/.*)$/.exec(request.url);
        if (!found) return stray(request, response, headers);
        const [, stamp, modifier = '', url] = found;
        const destination = request.headers['sec-fetch-dest'];
        asked.push(`${modifier} ${url}`.trim());
        events.emit('request');
        if (request.headers['service-worker'] === 'script') return response.writeHead(403, headers).end();
        const isDocument = /^(?:document|iframe|frame)$/.test(destination ?? '');
        if (isDocument && mode === 'names' && host !== hosts.names(url)) {
            return response.writeHead(307, { ...headers, location: `http://${hosts.names(url)}${request.url}` }).end();
        }
        const page = archive.pages[url] ?? invented(url);
        if (!page) return response.writeHead(404, headers).end('not archived');
        const {
            type = 'text/html',
            body = page,
            status = 200,
            headers: more = {},
            bare = false,
        } = typeof page === 'string' ? {} : page;
        response.writeHead(status, { ...headers, 'content-type': `${type}; charset=utf-8`, ...more });
        if (type !== 'text/html' || !isDocument || bare) return response.end(body);
        const quoted = url.replace(/&/g, '&amp;').replace(/"/g, '&quot;');
        const tag = `<script src="/herodotus/replay.js" data-stamp="${stamp}" data-url="${quoted}" data-mode="${mode}"></script>`;
        response.end(body.replace(/^(\s*<!doctype[^>]*>)?(<html>)?(<head>)?/i, `$1$2$3${tag}`));
    }

    function stray(request, response, headers) {
        strays.push(request.url);
        events.emit('request');
        const from = /^https?:\/\/[^/]+\/web\/(\d+)(?:[a-z]+_)?\/(https?:\/\/[^/]+)/.exec(
            request.headers.referer ?? '',
        );
        if (!from || archive.strict) return response.writeHead(404, headers).end('a stray');
        response.writeHead(307, { ...headers, location: `/web/${from[1]}oe_/${from[2]}${request.url}` }).end();
    }

    // As the server's own, but for one thing: a frame of an opaque origin is no ancestor that could be named.
    function policy(mode) {
        const own =
            mode === 'names' ? `'self' http://*.herodotus.localhost:${port}` : `'self' http://127.0.0.1:${port}`;
        return [
            "default-src 'self' data: blob: 'unsafe-inline' 'unsafe-eval' 'wasm-unsafe-eval'",
            `frame-src ${own} data: blob: about:; form-action ${own}; base-uri ${own}; object-src 'self'`,
            "worker-src 'self' blob: data:; manifest-src 'none'; webrtc 'block'",
            ...(mode === 'names' ? [`frame-ancestors ${own} ${uis.names} ${uis.opaque}`] : []),
            `sandbox allow-scripts allow-forms allow-modals allow-downloads${mode === 'names' ? ' allow-same-origin' : ''}`,
        ].join('; ');
    }

    archive.viewerUrl = (mode, url, ui = mode) => `${uis[ui]}/${mode}/web/${STAMP}/${url}`;
    archive.close = async () => {
        for (const server of [ui, replay]) {
            server.closeAllConnections();
            server.close();
        }
    };
    return archive;
}

function invented(url) {
    const [, extension] = /\.([a-z0-9]+)(?:[?#]|$)/.exec(new URL(url).pathname) ?? [];
    const made = MADE[extension];
    return made && { type: made[0], body: made[1](url) };
}
