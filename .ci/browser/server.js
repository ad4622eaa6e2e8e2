// The program itself, for the checks that need all of it: archives in folders of their own, made by crawling a site of
// ours or from WARC files that we write, and a server on ports that the system chose. $HERODOTUS names the binary.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import readline from 'node:readline';

const BINARY = process.env.HERODOTUS;
/** Why checks of the program are left out, or false. */
export const SKIP = BINARY ? false : 'HERODOTUS names no binary';
/** The name under which browsers keep archived sites apart and give them storage. */
export const NAME = 'herodotus.localhost';

/** A folder that `close()` of `use` takes away with everything that was started. */
export function workshop() {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'herodotus-check-'));
    const closers = [];
    return {
        folder,
        data: path.join(folder, 'data'),
        later: closer => closers.push(closer),
        async close() {
            // A closer that finds fault must not leave a server running: the rest is closed first.
            const faults = [];
            for (const closer of closers.reverse()) await Promise.resolve(closer()).catch(fault => faults.push(fault));
            fs.rmSync(folder, { recursive: true, force: true });
            if (faults.length) throw faults[0];
        },
    };
}

/** Runs the program to its end and gives what it printed. */
export async function run(...args) {
    const child = spawn(BINARY, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    const said = [];
    child.stdout.on('data', data => said.push(data));
    child.stderr.on('data', data => said.push(data));
    const [code] = await once(child, 'close');
    const text = Buffer.concat(said).toString();
    if (code !== 0) throw new Error(`herodotus ${args.join(' ')} ended with ${code}:\n${text}`);
    return text;
}

/** Crawls `seeds` of hosts under `.example`, which are all at `port` of this machine. */
export const crawl = (data, port, seeds, ...args) =>
    run(
        'crawl',
        '--data',
        data,
        '--allow-private',
        '127.0.0.0/8',
        '--connect-to',
        `*.example=127.0.0.1:${port}`,
        '--delay',
        '0',
        '--contact',
        'checks@example.org',
        ...args,
        ...seeds,
    );

/** `herodotus node` (or `serve`) on an archive; `ui` and `replay` are host:port as the browser should name them. */
export async function startServer(data, { command = 'node', address = '127.0.0.1', args = [] } = {}) {
    const child = spawn(BINARY, [command, '--data', data, '--listen', `${address}:0`, '--json', ...args], {
        stdio: ['ignore', 'pipe', 'pipe'],
    });
    const ended = once(child, 'close');
    const errors = [];
    child.stderr.on('data', data => errors.push(data));
    let told;
    for await (const line of readline.createInterface({ input: child.stdout })) {
        told = JSON.parse(line);
        if (told.event === 'listening') break;
    }
    if (!told) throw new Error(`the server did not start: ${Buffer.concat(errors)}`);
    const uiPort = Number(told.ui_address.split(':').at(-1));
    const replayPort = Number(told.replay_address.split(':').at(-1));
    return {
        uiPort,
        replayPort,
        token: () => fs.readFileSync(path.join(data, 'token'), 'utf8').trim(),
        ui: (host = NAME) => `http://${host}:${uiPort}`,
        async api(path, init) {
            const response = await fetch(`http://127.0.0.1:${uiPort}/api/v1${path}`, init);
            if (!response.ok) throw new Error(`/api/v1${path}: ${response.status} ${await response.text()}`);
            return response.json();
        },
        /** Whether a URL is one of the replay listener's. */
        isReplay: (url, host = NAME) => {
            const { hostname, port } = new URL(url);
            return Number(port) === replayPort && (hostname === host || hostname.endsWith('.' + host));
        },
        async close() {
            child.kill('SIGTERM');
            await ended;
        },
    };
}

/** A web server of ours on loopback for every host: `answer(url, request)` gives { type, body, status, headers }. */
export async function startSite(answer) {
    const asked = [];
    const server = http.createServer(async (request, response) => {
        const url = new URL(request.url, `http://${request.headers.host}`);
        asked.push(`${request.method} ${url.href}`);
        const {
            status = 200,
            type = 'text/html; charset=utf-8',
            headers = {},
            body = '',
        } = (await answer(url, request)) ?? {
            status: 404,
            type: 'text/plain',
            body: 'nothing here',
        };
        response.writeHead(status, { 'content-type': type, ...headers }).end(body);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return {
        port: server.address().port,
        asked,
        async close() {
            server.closeAllConnections();
            server.close();
            await once(server, 'close');
        },
    };
}

/** A WARC file of answers: { url, time: '2026-01-02T03:04:05Z', type, body, status, headers }. */
export function writeWarc(file, captures) {
    const parts = captures.map(
        ({ url, time, type = 'text/html; charset=utf-8', body = '', status = 200, headers = {} }) => {
            const bytes = Buffer.from(body);
            const head = [
                `HTTP/1.1 ${status} Said`,
                `Content-Type: ${type}`,
                `Content-Length: ${bytes.length}`,
                ...Object.entries(headers).flatMap(([name, values]) =>
                    [values].flat().map(value => `${name}: ${value}`),
                ),
            ].join('\r\n');
            const block = Buffer.concat([Buffer.from(head + '\r\n\r\n'), bytes]);
            const record = [
                'WARC/1.1',
                'WARC-Type: response',
                `WARC-Target-URI: ${url}`,
                `WARC-Date: ${time}`,
                `WARC-Record-ID: <urn:uuid:${crypto.randomUUID()}>`,
                'Content-Type: application/http; msgtype=response',
                `Content-Length: ${block.length}`,
            ].join('\r\n');
            return Buffer.concat([Buffer.from(record + '\r\n\r\n'), block, Buffer.from('\r\n\r\n')]);
        },
    );
    fs.writeFileSync(file, Buffer.concat(parts));
}

/** An address of this machine by which others reach it, or undefined. */
export const otherAddress = () =>
    Object.values(os.networkInterfaces())
        .flat()
        .find(({ family, internal }) => family === 'IPv4' && !internal)?.address;
