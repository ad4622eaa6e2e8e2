// Runs first in every archived document and keeps what its scripts do inside the archive: each URL that a script hands
// to the browser becomes `/web/<stamp><modifier>/<url>`, and what scripts read back looks as it did when the page was
// live.
//
// It promises fidelity, not safety. The wall is the replay origin, its Content-Security-Policy and the frame's sandbox;
// nothing here may loosen them, and a hostile script that finds untouched functions gains nothing. What can be lost:
// `window.location` and `window.top` cannot be replaced in a browser and JavaScript source is not rewritten, so scripts
// that read those see the archive's address and a frame; CSS selectors on URL attributes see the archive's URLs.
// Navigation needs the Navigation API, which documents of an opaque origin do not have: there the wall just stops it.
//
// Every window and worker is a world with its own functions, so all is done by `install(world)`: for our own, and for
// frames without a document of the server's (about:blank, javascript:) which we reach before the page can. Workers are
// started from a blob that loads this script before theirs. Idea: wombat of Webrecorder; the code is our own.

(() => {
    'use strict';
    const KEY = Symbol.for('herodotus');
    const HTML_TYPES = /^(?:text\/html|application\/xhtml\+xml|image\/svg\+xml)\b/;
    const LABELS_MAX = 256; // frames of more sites than any page has; a hostile one may announce without end

    const define = (owner, name, descriptor) => {
        // A page may have sealed what we would replace; its own doing, and no reason to stop here.
        try {
            Object.defineProperty(owner, name, { configurable: true, ...descriptor });
        } catch {}
    };

    // Where a property is defined: in a worker, `fetch` belongs to a prototype of the global object.
    const holder = (owner, name) => {
        while (owner && !Object.hasOwn(owner, name)) owner = Object.getPrototypeOf(owner);
        return owner;
    };

    // Replaces a method. `wrap` gets the native one.
    const method = (owner, name, wrap) => {
        owner = holder(owner, name);
        const old = owner && Object.getOwnPropertyDescriptor(owner, name);
        if (typeof old?.value !== 'function') return;
        const made = wrap(old.value);
        define(made, 'name', { value: name });
        define(made, 'length', { value: old.value.length });
        define(owner, name, { ...old, value: made });
    };

    // Replaces an accessor. `get` receives what the native getter said, `set` the value and the native setter.
    const accessor = (owner, name, { get, set }) => {
        const old = owner && Object.getOwnPropertyDescriptor(owner, name);
        if (!old?.get) return;
        define(owner, name, {
            enumerable: old.enumerable,
            get: get
                ? function () {
                      return get.call(this, old.get.call(this));
                  }
                : old.get,
            set: set
                ? function (value) {
                      set.call(this, value, to => old.set?.call(this, to));
                  }
                : old.set,
        });
    };

    // Replaces a class by itself, with other arguments. A proxy: subclasses, statics and `instanceof` go on working.
    const constructor = (world, name, change, after) => {
        const native = world[name];
        if (typeof native !== 'function') return;
        const made = new Proxy(native, {
            construct(target, args, as) {
                const object = Reflect.construct(target, change(args), as);
                after?.(object, args);
                return object;
            },
        });
        define(native.prototype, 'constructor', { value: made, writable: true });
        define(world, name, { value: made, writable: true });
    };

    // ---- URLs: between the archive's and the page's own ----

    // `here`: stamp, url (of the document or worker), mode, home (our origin). `baseOf`: the native base URL, if any.
    function urls(here, baseOf) {
        let family, archived, archivedAll, ours;
        // Asked for with every URL, and nearly always the same.
        let known, knownBase, knownInside;
        const set = given => {
            Object.assign(here, given);
            known = undefined;
            const quoted = here.home.replace(/[.\\+*?^$()[\]{}|]/g, '\\$&');
            // In names mode every archived site has its own label before the shared name.
            family = here.mode === 'names' ? quoted.replace(/(:\/\/)[^.:]+?(?=\\\.)/, '$1[a-z0-9-]+') : quoted;
            archived = new RegExp(`^${family}/web/(\\d{1,14})([a-z]+_)?/(https?:/.*)$`, 's');
            archivedAll = new RegExp(`(?:${family})?/web/\\d{1,14}(?:[a-z]+_)?/(?=https?:/)`, 'g');
            ours = new RegExp(`^/web/${here.stamp}([a-z]+_)?/https?:/`);
        };
        set({});

        // The page's own URL for one of ours; anything else as it is.
        const original = url => {
            if (typeof url !== 'string' || !url.startsWith('http')) return url;
            const found = archived.exec(url);
            if (found) return found[3];
            if (!url.startsWith(here.home + '/') || url.startsWith(here.home + '/herodotus/')) return url;
            return new URL(here.url).origin + url.slice(here.home.length);
        };
        // The same for every URL within a text.
        const originalText = text =>
            typeof text === 'string' && text.includes('/web/') ? text.replace(archivedAll, '') : text;
        const look = () => {
            const native = baseOf();
            if (native === known) return;
            known = native;
            knownInside = archived.test(native);
            knownBase = native.startsWith('http') ? original(native) : here.url;
        };
        const base = () => (look(), knownBase);
        // Whether relative URLs lead into the archive by themselves.
        const isInside = () => (look(), knownInside);
        // Our URL for one of the page's; what is no http(s) URL as it is.
        const archive = (url, modifier = '') => {
            const text = String(url).trim();
            if (text === '' || text[0] === '#') return url;
            let full;
            try {
                // Scripts that build on location.pathname hand us paths of ours.
                full = new URL(text, ours.test(text) ? here.home : base());
            } catch {
                return url;
            }
            if (full.protocol !== 'http:' && full.protocol !== 'https:') return url;
            if (full.href.includes('/web/')) {
                const rest = full.href.slice(full.origin.length);
                if (ours.test(rest)) full = new URL(rest, here.home);
                const found = archived.exec(full.href);
                if (found) {
                    return found[2] || !modifier ? full.href : `${here.home}/web/${found[1]}${modifier}/${found[3]}`;
                }
            }
            if (full.origin === here.home) {
                const rest = full.href.slice(here.home.length);
                if (rest.startsWith('/herodotus/')) return full.href;
                full = new URL(rest, here.url);
            }
            return `${here.home}/web/${here.stamp}${modifier}/${full.href}`;
        };
        const isArchived = url => archived.test(url);
        const modifierOf = url => archived.exec(url)?.[2] ?? '';
        return { set, original, originalText, archive, base, isInside, isArchived, modifierOf };
    }

    // ---- what windows and workers share: the network ----

    function network(world, here, { archive, original, base }) {
        const opaque = world.origin === 'null';
        const prototype = name => world[name]?.prototype;

        // Our server knows neither credentials nor digests of what it rewrote, and is another origin to an opaque one.
        const tame = init => {
            if (!init || typeof init !== 'object' || init instanceof world.Request) return init;
            const changes = {};
            if (init.credentials === 'include') changes.credentials = { value: 'same-origin' };
            if (init.integrity) changes.integrity = { value: '' };
            if (opaque && init.mode === 'same-origin') changes.mode = { value: 'cors' };
            return Object.keys(changes).length ? Object.create(init, changes) : init;
        };
        const Request = world.Request;
        const requestUrl = Object.getOwnPropertyDescriptor(Request.prototype, 'url').get;
        const asked = ([input, ...rest]) => {
            if (input instanceof Request) {
                const url = requestUrl.call(input);
                const kept = archive(url, 'oe_');
                if (kept !== url) input = new Request(kept, input);
            } else if (input !== undefined) {
                input = archive(input, 'oe_');
            }
            if (rest.length) rest[0] = tame(rest[0]);
            return input === undefined ? [] : [input, ...rest];
        };
        constructor(world, 'Request', asked);
        accessor(Request.prototype, 'url', { get: original });
        method(
            world,
            'fetch',
            native =>
                async function (...args) {
                    return native.apply(world, asked(args));
                },
        );
        method(world, 'fetchLater', () => () => ({ activated: false }));

        const xhr = prototype('XMLHttpRequest');
        method(
            xhr,
            'open',
            native =>
                function (verb, url, ...rest) {
                    return native.call(this, verb, archive(url, 'oe_'), ...rest);
                },
        );
        if (opaque) accessor(xhr, 'withCredentials', { set() {} });
        // The server answers with the original headers under a name of their own.
        const kept = native =>
            function (name) {
                return native.call(this, name) ?? native.call(this, `x-archive-orig-${name}`);
            };
        method(xhr, 'getResponseHeader', kept);
        method(prototype('Headers'), 'get', kept);

        constructor(world, 'EventSource', ([url, ...rest]) => [archive(url, 'oe_'), ...rest]);

        // A socket to where our server has nothing fails just as one to a dead host. Where the policy stops it before that,
        // Chromium says `error` but never `close`.
        const nowhere = here.home.replace(/^http/, 'ws') + '/herodotus/nowhere';
        const sockets = new WeakMap();
        constructor(
            world,
            'WebSocket',
            ([url, ...rest]) => {
                // What is no URL of a socket is for the native one to throw at.
                const valid = URL.canParse(url, base()) && /^(?:ws|http)s?:[^#]*$/.test(new URL(url, base()).href);
                return [valid ? nowhere : url, ...rest];
            },
            (socket, [url]) => {
                sockets.set(socket, new URL(url, base()).href.replace(/^http/, 'ws'));
                let closed = false;
                socket.addEventListener('close', () => {
                    closed = true;
                });
                socket.addEventListener('error', () =>
                    setTimeout(() => closed || socket.dispatchEvent(new world.CloseEvent('close', { code: 1006 }))),
                );
            },
        );
        accessor(prototype('WebSocket'), 'url', {
            get(url) {
                return sockets.get(this) ?? url;
            },
        });
        constructor(world, 'WebTransport', ([, ...rest]) => [nowhere.replace(/^wss?/, 'https'), ...rest]);
        // Relays only, and none named: a peer connection that finds no way out, and sends nothing looking for one.
        const dead = config => ({ ...config, iceServers: [], iceTransportPolicy: 'relay' });
        constructor(world, 'RTCPeerConnection', ([config, ...rest]) => [dead(config), ...rest]);
        if (world.webkitRTCPeerConnection) world.webkitRTCPeerConnection = world.RTCPeerConnection;
        method(
            prototype('RTCPeerConnection'),
            'setConfiguration',
            native =>
                function (config) {
                    return native.call(this, dead(config));
                },
        );

        // Caches are keyed by URL, and `add` fetches.
        const keyed = native =>
            function (request, ...rest) {
                if (typeof request === 'string' || request instanceof URL) request = archive(request, 'oe_');
                else if (Array.isArray(request))
                    request = request.map(one => (typeof one === 'string' ? archive(one, 'oe_') : one));
                return native.call(this, ...(request === undefined ? [] : [request]), ...rest);
            };
        for (const name of ['add', 'addAll', 'put', 'match', 'matchAll', 'delete', 'keys'])
            method(prototype('Cache'), name, keyed);
        method(prototype('CacheStorage'), 'match', keyed);

        // A worker begins with this script. Blobs are remembered: pages revoke their URL as soon as they have used it.
        const blobs = new Map();
        method(
            world.URL,
            'createObjectURL',
            native =>
                function (blob) {
                    const url = native.call(this, blob);
                    if (blob instanceof world.Blob) blobs.set(url, blob);
                    return url;
                },
        );
        method(
            world.URL,
            'revokeObjectURL',
            native =>
                function (url) {
                    blobs.delete(String(url));
                    return native.call(this, url);
                },
        );
        const createObjectURL = world.URL.createObjectURL;
        constructor(world, 'Worker', ([url, options, ...rest]) => {
            const text = String(url);
            const address = archive(text, 'wkr_');
            if (!address.startsWith?.('http') && !blobs.has(text)) return [url, options, ...rest];
            const script = JSON.stringify(`${here.home}/herodotus/replay.js`);
            const body = blobs.get(text);
            const given = { ...here, url: body ? base() : original(address), located: !body };
            const set = `self.herodotus=${JSON.stringify(given)};`;
            const start =
                options?.type === 'module'
                    ? [
                          `import${JSON.stringify('data:text/javascript,' + encodeURIComponent(set))};import${script};`,
                          body ?? `import${JSON.stringify(address)};`,
                      ]
                    : [`${set}importScripts(${script});`, body ?? `importScripts(${JSON.stringify(address)});`];
            // Chromium starts no module from a blob of an opaque origin; elsewhere data: would take our origin from us.
            const started =
                opaque && !body
                    ? 'data:text/javascript,' + encodeURIComponent(start.join(''))
                    : createObjectURL(new Blob(start, { type: 'text/javascript' }));
            return [started, options, ...rest];
        });
        // Shared by its URL, so it cannot be wrapped; what it asks for is left to the service worker and the wall.
        constructor(world, 'SharedWorker', ([url, ...rest]) => [archive(url, 'wkr_'), ...rest]);
        method(
            world,
            'importScripts',
            native =>
                (...scripts) =>
                    native.apply(
                        world,
                        scripts.map(one => archive(one, 'js_')),
                    ),
        );

        for (const place of [
            'Response.url',
            'XMLHttpRequest.responseURL',
            'EventSource.url',
            'PerformanceEntry.name',
            'ErrorEvent.filename',
        ]) {
            const [owner, name] = place.split('.');
            accessor(prototype(owner), name, { get: original });
        }
        return { blobs, createObjectURL };
    }

    function installWorker(world, given) {
        const here = {};
        const map = urls(Object.assign(here, given), () => '');
        network(world, here, map);
        if (given.located) define(world, 'location', { value: new URL(here.url) });
    }

    // ---- documents ----

    function installWindow(world, given) {
        if (world[KEY]) {
            // The window outlived its first, empty document; its functions are ours already.
            world[KEY](given);
            return;
        }
        const here = {};
        const { document } = world;
        const nativeBase = Object.getOwnPropertyDescriptor(world.Node.prototype, 'baseURI').get;
        const map = urls(Object.assign(here, given), () => here.virtual ?? nativeBase.call(world.document) ?? '');
        const { archive, original, originalText, base } = map;
        const prototype = name => world[name]?.prototype;
        const { getAttribute, setAttribute } = world.Element.prototype;
        const nativeGetter = (owner, name) =>
            prototype(owner) && Object.getOwnPropertyDescriptor(prototype(owner), name).get;
        const navigationUrl = nativeGetter('NavigationDestination', 'url');
        const eventOrigin = nativeGetter('MessageEvent', 'origin');
        const up = world.parent;
        const outermost = up !== world && up === world.top;
        // By mode, by the page's own sandbox attribute, or a data: document.
        const opaque = world.origin === 'null';
        const current = () => {
            const url = here.virtual ?? world.location.href;
            return map.isArchived(url) || here.virtual ? original(url) : here.url;
        };
        const originHere = () => new URL(current()).origin;
        const isWeb = url => /^https?:/i.test(url);

        const { blobs, createObjectURL } = network(world, here, map);

        // ---- which attribute holds what ----

        const as = modifier => value => archive(value, modifier);
        // A plain relative link resolves into the archive by itself; left alone, it reads back as written.
        const page = value =>
            /^(?![a-z][a-z0-9+.-]*:|[\\/\s]|.*\.\.)/i.test(value) && map.isInside() ? value : archive(value);
        const drop = () => null;
        const srcset = value =>
            value.replace(
                /([^\s,]\S*[^\s,]|[^\s,])(\s[^,]*)?(,|$)/g,
                (_, url, size = '', end) => archive(url, 'im_') + size + end,
            );
        const css = text => {
            text = String(text);
            if (!/url\(|@import/i.test(text)) return text;
            return text.replace(
                /(@import\s+)?(url\(\s*)(?:"([^"]*)"|'([^']*)'|([^\s)'"]+))(?=\s*\))|(@import\s+)(?:"([^"]*)"|'([^']*)')/gi,
                (all, start, open, a, b, c, word, d, e) => {
                    const url = a ?? b ?? c ?? d ?? e;
                    if (url === '' || url[0] === '#') return all;
                    const kept = archive(url, start || word ? 'cs_' : 'oe_').replace(/["\\\n]/g, encodeURIComponent);
                    return `${start ?? word ?? ''}${open ?? ''}"${kept}"`;
                },
            );
        };
        const linked = (value, peek) => {
            const rel = (peek('rel') ?? 'stylesheet').toLowerCase();
            const kind = (peek('as') ?? '').toLowerCase();
            if (/stylesheet/.test(rel) || kind === 'style') return archive(value, 'cs_');
            if (/icon/.test(rel) || kind === 'image') return archive(value, 'im_');
            if (/modulepreload/.test(rel) || kind === 'script') return archive(value, 'js_');
            return archive(value, /preload|prefetch|manifest/.test(rel) ? 'oe_' : '');
        };
        const refresh = (value, peek) =>
            /^refresh$/i.test(peek('http-equiv') ?? '')
                ? value.replace(/(url\s*=\s*["']?)([^"']+)/i, (_, start, url) => start + archive(url))
                : value;
        const quoted = value => value.replace(/&/g, '&amp;').replace(/"/g, '&quot;');
        const tag = () =>
            `<script src="${here.home}/herodotus/replay.js" data-stamp="${here.stamp}" data-url="${quoted(base())}" data-mode="${here.mode}"></script>`;
        // Documents that come from no server get the tag here; without a doctype before it they would turn quirky.
        const framed = modifier => value => {
            const blob = blobs.get(value);
            if (blob?.type.startsWith('text/html'))
                return createObjectURL(new Blob(['<!doctype html>', tag(), blob], { type: blob.type }));
            const [, type, packed, body] = /^\s*data:(text\/html[^,]*?)(;\s*base64)?,(.*)$/is.exec(value) ?? [];
            // In an opaque origin such a frame is closed to us and to the page alike, so that it shows nothing is no loss.
            if (opaque && /^\s*javascript:/i.test(value)) return 'about:blank';
            if (!type) return archive(value, modifier);
            const start = '<!doctype html>' + tag();
            try {
                return packed
                    ? `data:${type};base64,${btoa(start + atob(decodeURIComponent(body)))}`
                    : `data:${type},${encodeURIComponent(start)}${body}`;
            } catch {
                return value;
            }
        };
        const srcdoc = value =>
            value.replace(/^(\s*<!doctype[^>]*>)?([^]*)$/i, (_, type = '', rest) => type + tag() + html(rest));
        const image = as('im_');
        const media = as('oe_');
        const RULES = {
            __proto__: null,
            href: {
                a: page,
                area: page,
                link: linked,
                base: as(''),
                image,
                use: image,
                feimage: image,
                script: as('js_'),
            },
            src: {
                img: image,
                input: image,
                script: as('js_'),
                iframe: framed('if_'),
                frame: framed('fr_'),
                embed: media,
                video: media,
                audio: media,
                source: media,
                track: media,
            },
            srcset: { img: srcset, source: srcset },
            imagesrcset: { link: srcset },
            srcdoc: { iframe: srcdoc },
            data: { object: media },
            poster: { video: image },
            action: { form: page },
            formaction: { button: page, input: page },
            background: { body: image, table: image, tr: image, td: image, th: image },
            lowsrc: { img: image },
            longdesc: { img: page, iframe: page },
            cite: { blockquote: page, q: page, ins: page, del: page },
            content: { meta: refresh },
            // The server rewrites style sheets, and a changed byte would fail the digest.
            integrity: { script: drop, link: drop },
            ping: { a: drop, area: drop },
            style: { '*': css },
        };
        RULES['xlink:href'] = RULES.href;
        const ruleOf = (element, attribute) => {
            const rules = RULES[attribute] ?? RULES[String(attribute).toLowerCase()];
            if (!rules) return undefined;
            return rules[element] ?? rules[element.toLowerCase?.()] ?? rules['*'];
        };

        // What a script wrote, so that it reads back to the letter: element → attribute → [as kept, as written].
        const written = new WeakMap();
        const plain = attribute => attribute.toLowerCase().replace(/^.*:/, '');
        const keep = (element, attribute, value, rule = ruleOf(element.localName, attribute)) => {
            if (!rule) return value;
            const text = String(value);
            const kept = rule(text, other => getAttribute.call(element, other));
            if (kept !== null && kept !== text) {
                let known = written.get(element);
                if (!known) written.set(element, (known = {}));
                known[plain(attribute)] = [kept, text];
            }
            return kept;
        };
        const read = (element, attribute, value) => {
            if (typeof value !== 'string' || !ruleOf(element.localName, attribute)) return value;
            const known = written.get(element)?.[plain(attribute)];
            if (known && known[0] === value) return known[1];
            const text = originalText(value);
            return attribute === 'srcdoc'
                ? text.replace(/<script src="[^"]*\/herodotus\/replay\.js"[^>]*><\/script>/, '')
                : text;
        };

        // ---- markup as text ----

        const inert = document.implementation.createHTMLDocument('');
        const innerHTML = Object.getOwnPropertyDescriptor(world.Element.prototype, 'innerHTML').set;
        const decode = value => {
            if (!value.includes('&')) return value;
            const holder = inert.createElement('p');
            innerHTML.call(holder, `<i title="${value.replace(/"/g, '&quot;')}">`);
            return holder.firstChild.title;
        };
        const WORTH =
            /[\s"'/](?:src|href|srcset|imagesrcset|srcdoc|data|poster|action|formaction|background|lowsrc|longdesc|cite|content|integrity|ping|style)\s*=|<style/i;
        const NAME = /<(?:!--|([a-z][^\s/>]*))/gi;
        const ATTRIBUTE = /[\s/]*([^\s/>=][^\s/>=]*)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>"'][^\s>]*)))?/y;
        const RAW = /^(?:script|style|textarea|title|xmp)$/i;

        // Rewrites tags where they stand and touches nothing between them, so that half a document stays half a document.
        // With `tail` given, a tag without an end is handed to it, to be continued.
        function html(text, tail) {
            text = String(text);
            if (!tail && !WORTH.test(text)) return text;
            let out = '';
            let done = 0;
            NAME.lastIndex = 0;
            for (let found; (found = NAME.exec(text));) {
                if (!found[1]) {
                    const end = text.indexOf('-->', NAME.lastIndex);
                    if (end < 0) break;
                    NAME.lastIndex = end;
                    continue;
                }
                const attributes = [];
                let at = NAME.lastIndex;
                for (;;) {
                    ATTRIBUTE.lastIndex = at;
                    const one = ATTRIBUTE.exec(text);
                    if (!one) break;
                    at = ATTRIBUTE.lastIndex;
                    attributes.push(one);
                }
                const close = /[\s/="']*>/y;
                close.lastIndex = at;
                if (!close.test(text)) {
                    if (tail && text.indexOf('>', at) < 0) {
                        tail(text.slice(found.index));
                        return out + text.slice(done, found.index);
                    }
                    NAME.lastIndex = at;
                    continue;
                }
                const peek = name => {
                    const one = attributes.find(each => each[1].toLowerCase() === name);
                    return one ? decode(one[2] ?? one[3] ?? one[4] ?? '') : null;
                };
                for (const one of attributes) {
                    const value = one[2] ?? one[3] ?? one[4];
                    const rule = value && ruleOf(found[1], one[1]);
                    if (!rule) continue;
                    const plain = decode(value);
                    const kept = rule(plain, peek);
                    if (kept === plain) continue;
                    out += text.slice(done, one.index);
                    if (kept !== null) out += ` ${one[1]}="${quoted(kept)}"`;
                    done = one.index + one[0].length;
                }
                NAME.lastIndex = close.lastIndex;
                if (RAW.test(found[1])) {
                    const rest = text.slice(close.lastIndex).search(new RegExp(`</${found[1]}`, 'i'));
                    const end = rest < 0 ? text.length : close.lastIndex + rest;
                    if (/^style$/i.test(found[1])) {
                        out += text.slice(done, close.lastIndex) + css(text.slice(close.lastIndex, end));
                        done = end;
                    }
                    NAME.lastIndex = end;
                }
            }
            return out + text.slice(done);
        }
        const inside = (element, text) =>
            element.localName === 'style' ? css(text) : element.localName === 'script' ? text : html(text);

        // ---- frames: every window is reached before the page can use it ----

        const known = [];
        const adopt = child => {
            try {
                if (child && !child[KEY] && child.document)
                    installWindow(child, { ...here, url: base(), virtual: undefined });
            } catch {
                // Of another origin: its own document brings the script.
            }
            return child;
        };
        const sweep = () => {
            for (let at = world.length - 1; at >= 0; at--) {
                if (known[at] === world[at]) continue;
                known[at] = world[at];
                adopt(world[at]);
            }
        };
        for (const name of ['HTMLIFrameElement', 'HTMLFrameElement', 'HTMLObjectElement', 'HTMLEmbedElement']) {
            accessor(prototype(name), 'contentWindow', { get: adopt });
            accessor(prototype(name), 'contentDocument', {
                get(child) {
                    adopt(child?.defaultView);
                    return child;
                },
            });
        }
        define(world, 'frames', {
            get() {
                sweep();
                return world;
            },
            set(value) {
                define(world, 'frames', { value, writable: true });
            },
            enumerable: true,
        });

        const inserting = native =>
            function (...nodes) {
                if (this.localName === 'style') {
                    nodes = nodes.map(node => {
                        if (typeof node === 'string') return css(node);
                        if (node?.nodeType === 3) node.data = css(node.data);
                        return node;
                    });
                }
                const result = native.apply(this, nodes);
                if (world.length) sweep();
                return result;
            };
        for (const [names, methods] of [
            ['Node', 'appendChild insertBefore replaceChild'],
            ['Element Document DocumentFragment', 'append prepend replaceChildren moveBefore'],
            ['Element CharacterData DocumentType', 'before after replaceWith'],
            ['Element', 'insertAdjacentElement insertAdjacentText'],
            ['Range', 'insertNode surroundContents'],
        ]) {
            for (const name of names.split(' '))
                for (const one of methods.split(' ')) method(prototype(name), one, inserting);
        }

        // ---- attributes and the properties that reflect them ----

        method(
            prototype('Element'),
            'setAttribute',
            native =>
                function (name, value) {
                    const rule = ruleOf(this.localName, name);
                    if (!rule) return native.apply(this, arguments);
                    const kept = keep(this, name, value, rule);
                    if (kept !== null) native.call(this, name, kept);
                    if (world.length) sweep();
                },
        );
        method(
            prototype('Element'),
            'setAttributeNS',
            native =>
                function (space, name, value) {
                    const kept = keep(this, String(name).replace(/^.*:/, ''), value);
                    if (kept !== null) native.call(this, space, name, kept);
                },
        );
        method(
            prototype('Element'),
            'getAttribute',
            native =>
                function (name) {
                    return read(this, name, native.apply(this, arguments));
                },
        );
        method(
            prototype('Element'),
            'getAttributeNS',
            native =>
                function (space, name) {
                    return read(this, name, native.apply(this, arguments));
                },
        );
        const readNode = function (value) {
            return this.ownerElement ? read(this.ownerElement, this.name, value) : value;
        };
        accessor(prototype('Attr'), 'value', {
            get: readNode,
            set(value, native) {
                const kept = this.ownerElement ? keep(this.ownerElement, this.name, value) : value;
                if (kept !== null) native(kept);
            },
        });
        for (const name of ['setAttributeNode', 'setAttributeNodeNS']) {
            method(
                prototype('Element'),
                name,
                native =>
                    function (node) {
                        const value = keep(this, node.name, node.value);
                        if (value !== null) node.value = value;
                        return native.apply(this, arguments);
                    },
            );
        }
        const REFLECTED = `Anchor.href Area.href Base.href Link.href Link.imageSrcset Image.src Image.srcset Image.longDesc
            Image.lowsrc Script.src IFrame.src IFrame.srcdoc IFrame.longDesc Frame.src Embed.src Object.data Media.src Video.poster
            Source.src Source.srcset Track.src Input.src Input.formAction Button.formAction Form.action Body.background
            Quote.cite Mod.cite Meta.content Script.integrity Link.integrity Anchor.ping Area.ping`;
        for (const place of REFLECTED.split(/\s+/)) {
            const [name, property] = place.split('.');
            const attribute = property.toLowerCase();
            const isText = /^(?:srcset|imagesrcset|srcdoc|content|background)$/.test(attribute);
            accessor(prototype(`HTML${name}Element`), property, {
                get(value) {
                    return isText || /^(?:blob|data):/.test(value) ? read(this, attribute, value) : original(value);
                },
                set(value, native) {
                    const kept = keep(this, attribute, value);
                    if (kept !== null) native(kept);
                    if (world.length && attribute.startsWith('src')) sweep();
                },
            });
        }
        accessor(prototype('SVGAnimatedString'), 'baseVal', {
            get: original,
            set(value, native) {
                native(/^\s*(?:https?:)?\/\//i.test(value) ? archive(value, 'im_') : value);
            },
        });
        for (const name of ['HTMLAnchorElement', 'HTMLAreaElement']) {
            const owner = prototype(name);
            const { get, set } = Object.getOwnPropertyDescriptor(owner, 'href');
            const parts = element => {
                try {
                    return new URL(get.call(element));
                } catch {
                    return null;
                }
            };
            for (const part of ['protocol', 'host', 'hostname', 'port', 'pathname', 'search', 'hash', 'origin']) {
                accessor(owner, part, {
                    get(value) {
                        return parts(this)?.[part] ?? value;
                    },
                    set:
                        part === 'origin'
                            ? undefined
                            : function (value, native) {
                                  const url = parts(this);
                                  if (!url) return native(value);
                                  url[part] = value;
                                  set.call(this, url.href);
                              },
                });
            }
            method(
                owner,
                'toString',
                () =>
                    function () {
                        return get.call(this);
                    },
            );
        }
        for (const place of `Document.URL Document.documentURI Node.baseURI HTMLImageElement.currentSrc HTMLMediaElement.currentSrc
            StyleSheet.href CSSImportRule.href HashChangeEvent.oldURL HashChangeEvent.newURL StorageEvent.url
            NavigationDestination.url NavigationHistoryEntry.url`.split(/\s+/)) {
            const [owner, name] = place.split('.');
            accessor(prototype(owner), name, { get: original });
        }
        if (opaque) {
            const virtual = function (value) {
                return this === world.document && here.virtual ? here.virtual : value;
            };
            for (const name of ['URL', 'documentURI']) accessor(prototype('Document'), name, { get: virtual });
        }

        // ---- markup ----

        for (const owner of ['Element', 'ShadowRoot']) {
            for (const name of ['innerHTML', 'outerHTML']) {
                accessor(prototype(owner), name, {
                    get(text) {
                        return this.localName === 'script' ? text : originalText(text);
                    },
                    set(text, native) {
                        native(text === null ? '' : name === 'innerHTML' ? inside(this, text) : html(text));
                        if (world.length) sweep();
                    },
                });
            }
            const given = native =>
                function (text, ...rest) {
                    const result = native.call(this, inside(this, text), ...rest);
                    sweep();
                    return result;
                };
            for (const name of ['setHTMLUnsafe', 'setHTML']) method(prototype(owner), name, given);
            method(
                prototype(owner),
                'getHTML',
                native =>
                    function (...args) {
                        return originalText(native.apply(this, args));
                    },
            );
        }
        method(
            prototype('Element'),
            'insertAdjacentHTML',
            native =>
                function (where, text) {
                    native.call(this, where, inside(this, text));
                    if (world.length) sweep();
                },
        );
        method(
            prototype('Range'),
            'createContextualFragment',
            native =>
                function (text) {
                    return native.call(this, html(text));
                },
        );
        method(
            prototype('DOMParser'),
            'parseFromString',
            native =>
                function (text, type) {
                    return native.call(this, HTML_TYPES.test(type) ? html(text) : text, type);
                },
        );
        method(
            world.Document,
            'parseHTMLUnsafe',
            native =>
                function (text, ...rest) {
                    return native.call(this, html(text), ...rest);
                },
        );
        method(
            prototype('XMLSerializer'),
            'serializeToString',
            native =>
                function (node) {
                    return originalText(native.call(this, node));
                },
        );
        for (const [owner, name] of [
            ['Node', 'textContent'],
            ['HTMLElement', 'innerText'],
        ]) {
            accessor(prototype(owner), name, {
                get(text) {
                    return this.localName === 'style' ? originalText(text) : text;
                },
                set(text, native) {
                    native(this.localName === 'style' ? css(text) : text);
                },
            });
        }
        // A tag may come in several writes: its beginning waits for the rest, as it would in the parser.
        const begun = new WeakMap();
        const writing = end => native =>
            function (...parts) {
                const text = (begun.get(this) ?? '') + parts.join('') + end;
                begun.delete(this);
                const result = native.call(
                    this,
                    html(text, tail => begun.set(this, tail)),
                );
                listen();
                sweep();
                return result;
            };
        method(prototype('Document'), 'write', writing(''));
        method(prototype('Document'), 'writeln', writing('\n'));
        method(
            prototype('Document'),
            'open',
            native =>
                function (...args) {
                    // With three arguments this is window.open by another name.
                    if (args.length > 2) return world.open(...args);
                    begun.delete(this);
                    const result = native.apply(this, args);
                    listen();
                    return result;
                },
        );

        // ---- style ----

        // The properties of a style live in the object itself, out of reach of its prototype: a proxy stands before it.
        const styles = new WeakMap();
        const bare = new WeakMap();
        const unwrap = style => bare.get(style) ?? style;
        const declaration = prototype('CSSStyleDeclaration');
        for (const name of Object.getOwnPropertyNames(declaration)) {
            const { value, get } = Object.getOwnPropertyDescriptor(declaration, name);
            if (get) {
                const { set } = Object.getOwnPropertyDescriptor(declaration, name);
                define(declaration, name, {
                    enumerable: true,
                    get() {
                        return originalText(get.call(unwrap(this)));
                    },
                    set:
                        set &&
                        function (text) {
                            set.call(unwrap(this), css(text));
                        },
                });
            } else if (typeof value === 'function' && name !== 'constructor') {
                method(
                    declaration,
                    name,
                    native =>
                        function (...args) {
                            if (name === 'setProperty' && typeof args[1] === 'string') args[1] = css(args[1]);
                            return originalText(native.apply(unwrap(this), args));
                        },
                );
            }
        }
        const traps = {
            get(style, name) {
                const value = style[name];
                return typeof value === 'string' ? originalText(value) : value;
            },
            set(style, name, value) {
                style[name] = typeof value === 'string' ? css(value) : value;
                return true;
            },
        };
        const wrapped = style => {
            if (!style) return style;
            let proxy = styles.get(style);
            if (!proxy) {
                proxy = new Proxy(style, traps);
                styles.set(style, proxy);
                bare.set(proxy, style);
            }
            return proxy;
        };
        for (const owner of ['HTMLElement', 'SVGElement', 'MathMLElement', 'CSSStyleRule', 'CSSFontFaceRule']) {
            accessor(prototype(owner), 'style', {
                get: wrapped,
                set(text, native) {
                    native(css(text));
                },
            });
        }
        const sheet = prototype('CSSStyleSheet');
        const ruled = native =>
            function (text, ...rest) {
                return native.call(this, css(text), ...rest);
            };
        for (const name of ['insertRule', 'replace', 'replaceSync']) method(sheet, name, ruled);
        method(
            sheet,
            'addRule',
            native =>
                function (selector, text, ...rest) {
                    return native.call(this, selector, css(text), ...rest);
                },
        );
        for (const owner of ['CSSGroupingRule', 'CSSKeyframesRule', 'CSSStyleRule'])
            method(prototype(owner), 'insertRule', ruled);
        method(prototype('CSSKeyframesRule'), 'appendRule', ruled);
        accessor(prototype('CSSRule'), 'cssText', { get: originalText });
        constructor(world, 'FontFace', ([family, source, ...rest]) => [
            family,
            typeof source === 'string' ? css(source) : source,
            ...rest,
        ]);

        // ---- what the document says of itself ----

        const cookies = new Map();
        accessor(prototype('Document'), 'referrer', {
            get: url => {
                const from = original(url);
                return from !== url ? from : '';
            },
        });
        define(prototype('Document'), 'cookie', {
            enumerable: true,
            get: () => Array.from(cookies, ([name, value]) => (name ? `${name}=${value}` : value)).join('; '),
            set(text) {
                const [pair, ...rest] = String(text)
                    .split(';')
                    .map(part => part.trim());
                const at = pair.indexOf('=');
                const attribute = name =>
                    rest.find(part => part.toLowerCase().startsWith(name + '='))?.slice(name.length + 1);
                const age = attribute('max-age');
                const gone =
                    age !== undefined ? Number(age) <= 0 : Date.parse(attribute('expires') ?? '') <= Date.now();
                const name = at < 0 ? '' : pair.slice(0, at).trim();
                cookies.delete(name);
                if (!gone) cookies.set(name, pair.slice(at + 1).trim());
            },
        });
        delete world.cookieStore;
        let domain;
        define(prototype('Document'), 'domain', {
            enumerable: true,
            get: () => domain ?? new URL(current()).hostname,
            set(to) {
                domain = String(to);
            },
        });
        define(world, 'origin', {
            get: originHere,
            set(value) {
                define(world, 'origin', { value, writable: true });
            },
            enumerable: true,
        });
        if (outermost) {
            // The viewer around us was not there when the page was live. `top` cannot be hidden.
            define(world, 'parent', {
                get: () => world,
                set(value) {
                    define(world, 'parent', { value, writable: true });
                },
                enumerable: true,
            });
            define(world, 'frameElement', { get: () => null, enumerable: true });
        }

        method(prototype('Navigator'), 'sendBeacon', () => () => true);
        if (here.mode === 'names' && !opaque) {
            const workers = world.navigator.serviceWorker;
            // It catches what no patch sees. Where it is refused, the server still maps strays by their Referer.
            if (outermost || up === world)
                workers
                    ?.register(`${here.home}/herodotus/sw.js`, { scope: '/', updateViaCache: 'none' })
                    .catch(() => {});
            const container = prototype('ServiceWorkerContainer');
            const refused = () =>
                Promise.reject(
                    new world.TypeError('Failed to register a ServiceWorker: the script could not be loaded.'),
                );
            method(container, 'register', () => refused);
            method(container, 'getRegistration', () => async () => undefined);
            method(container, 'getRegistrations', () => async () => []);
            accessor(container, 'controller', { get: () => null });
            accessor(container, 'ready', { get: () => new Promise(() => {}) });
        } else {
            delete prototype('Navigator').serviceWorker;
        }
        // An opaque origin has no storage, nor has a frame where the browser is told to give none to other sites: it throws
        // at every touch, which scripts of the live page never met.
        try {
            void world.localStorage.length;
        } catch {
            for (const name of ['localStorage', 'sessionStorage'])
                define(world, name, { value: storage(world), enumerable: true });
            define(world, 'indexedDB', { value: undefined });
            delete world.caches;
        }

        // Absolute and root-relative imports, which no function sees. Where only one map is allowed, the page's goes first.
        if (
            world.navigator.userAgentData?.brands.some(({ brand, version }) => brand === 'Chromium' && version >= 133)
        ) {
            const imports = {
                [`${here.home}/web/`]: `${here.home}/web/`,
                [`${here.home}/herodotus/`]: `${here.home}/herodotus/`,
            };
            for (const scheme of ['http://', 'https://'])
                imports[scheme] = `${here.home}/web/${here.stamp}js_/${scheme}`;
            imports[`${here.home}/`] = `${here.home}/web/${here.stamp}js_/${new URL(here.url).origin}/`;
            const element = document.createElement('script');
            element.type = 'importmap';
            element.textContent = JSON.stringify({ imports });
            (document.head ?? document.documentElement)?.append(element);
            element.remove();
        }

        // ---- going elsewhere ----

        let outer = world;
        while (outer.parent !== outer && outer.parent !== world.top) outer = outer.parent;
        const send = (to, kind, more) => to.postMessage({ herodotus: 1, kind, stamp: here.stamp, ...more }, '*');
        const open = url => isWeb(url) && send(outermost ? up : outer, 'open', { url: original(url) });
        const frameNamed = name => {
            for (let at = 0; at < world.length; at++) {
                try {
                    if (world[at].name === name) return world[at];
                } catch {}
                try {
                    if (world[at][name]?.window) return world[at][name];
                } catch {}
            }
            const own = world[name];
            return own && own !== world && own.window === own ? own : null;
        };
        // Where a link, form or window.open with this target leads; false if the browser does right by itself.
        const lead = (target, url) => {
            target = String(target ?? '');
            const word = target.toLowerCase();
            if (word === '' || word === '_self' || target === world.name || !isWeb(url)) return false;
            if (word !== '_blank' && word[0] !== '_' && frameNamed(target)) return false;
            if (word === '_top' || word === '_parent') {
                if (outermost || up === world) world.location.href = archive(url);
                else send(word === '_top' ? outer : up, 'go', { url, target: '_self' });
            } else if (word === '_blank' || outer === world) {
                open(url);
            } else {
                send(outer, 'go', { url, target });
            }
            return true;
        };
        const baseTarget = () => world.document.querySelector('base[target]')?.target;
        const onClick = event => {
            if (event.defaultPrevented || event.button > 1) return;
            const link = event
                .composedPath()
                .find(node => (node.localName === 'a' || node.localName === 'area') && node.href);
            if (!link || link.hasAttribute('download')) return;
            const elsewhere = event.button === 1 || event.ctrlKey || event.metaKey || event.shiftKey;
            if (lead(elsewhere ? '_blank' : link.target || baseTarget(), String(link.href))) event.preventDefault();
        };
        const attribute = (element, name) => element && getAttribute.call(element, name);
        const onSubmit = event => {
            if (!event.defaultPrevented && settle(event.target, event.submitter)) event.preventDefault();
        };
        // Before a form goes: its address into the archive, its target to where this page may go.
        const settle = (form, button) => {
            for (const [element, name] of [
                [form, 'action'],
                [button, 'formaction'],
            ]) {
                const value = attribute(element, name);
                if (value) setAttribute.call(element, name, page(value));
            }
            const target = attribute(button, 'formtarget') ?? attribute(form, 'target') ?? baseTarget();
            const how = (attribute(button, 'formmethod') ?? attribute(form, 'method') ?? 'get').toLowerCase();
            if (how === 'get') {
                const url = new URL(
                    original(archive(attribute(button, 'formaction') || attribute(form, 'action') || current())),
                );
                url.search = new URLSearchParams(new world.FormData(form, button ?? null));
                return lead(target, url.href);
            }
            const word = String(target ?? '').toLowerCase();
            if (word && word !== '_self' && target !== world.name && !frameNamed(target)) {
                if (button?.hasAttribute('formtarget')) setAttribute.call(button, 'formtarget', '_self');
                setAttribute.call(form, 'target', '_self');
            }
            return false;
        };
        method(
            prototype('HTMLFormElement'),
            'submit',
            native =>
                function () {
                    if (!settle(this)) native.call(this);
                },
        );
        method(
            prototype('HTMLElement'),
            'click',
            native =>
                function () {
                    // Outside the document no click reaches our listener.
                    if (this.localName === 'a' && !this.isConnected)
                        this.addEventListener('click', onClick, { once: true });
                    return native.call(this);
                },
        );
        method(
            world,
            'open',
            native =>
                function (url = '', target = '_blank') {
                    const full = url === '' ? '' : original(archive(url));
                    if (full === '' && !frameNamed(target)) return null;
                    if (full !== '' && lead(target, full)) return null;
                    return /^_blank$/i.test(target) ? null : native.call(world, full && archive(full), target);
                },
        );
        const onNavigate = event => {
            const url = navigationUrl.call(event.destination);
            if (!event.cancelable || event.navigationType === 'traverse' || event.formData || !isWeb(url)) return;
            const kept = archive(url, map.modifierOf(world.location.href));
            if (kept === url || map.isArchived(url)) return;
            event.preventDefault();
            event.stopImmediatePropagation();
            if (event.navigationType === 'replace') world.location.replace(kept);
            else world.location.assign(kept);
        };
        for (const name of ['pushState', 'replaceState']) {
            method(
                prototype('History'),
                name,
                native =>
                    function (state, title, url) {
                        if (url === undefined || url === null) native.call(this, state, title);
                        else {
                            const kept = archive(url, map.modifierOf(world.location.href));
                            if (isWeb(kept) && new URL(original(kept)).origin !== originHere()) {
                                throw new world.DOMException(
                                    `Failed to execute '${name}' on 'History': '${url}' is of another origin.`,
                                    'SecurityError',
                                );
                            }
                            try {
                                native.call(this, state, title, kept);
                                here.virtual = undefined;
                            } catch (error) {
                                // A document of an opaque origin may not change its path; we remember where it thinks it is.
                                if (!opaque) throw error;
                                native.call(this, state, title);
                                here.virtual = original(kept);
                            }
                        }
                        announce();
                    },
            );
        }

        // ---- the viewer, and our kind in other frames ----

        let told = '';
        let telling = false;
        const announce = () => {
            if (telling || up === world) return;
            telling = true;
            world.setTimeout(() => {
                telling = false;
                const at = { url: current(), title: world.document.title };
                if (told === (told = JSON.stringify(at))) return;
                send(up, 'at', at);
            });
        };
        const labels = new Map();
        // Two versions beside each other scroll as one: each says how far it is, and goes where the other went.
        let sent = -1;
        const depth = () => world.document.documentElement.scrollHeight - world.innerHeight;
        const onScroll = () => {
            const share = depth() > 0 ? world.scrollY / depth() : 0;
            if (outermost && Math.abs(share - sent) > 0.002) send(up, 'scroll', { share: (sent = share) });
        };
        const onMessage = event => {
            const { data } = event;
            if (data?.herodotus !== 1) return;
            event.stopImmediatePropagation();
            if (data.kind === 'scroll' && event.source === up && data.share >= 0 && data.share <= 1)
                world.scrollTo({ top: (sent = data.share) * depth(), behavior: 'instant' });
            if (typeof data.url !== 'string' || !isWeb(data.url)) return;
            if (data.kind === 'at' && labels.size < LABELS_MAX && URL.canParse(data.url))
                labels.set(eventOrigin.call(event), new URL(data.url).origin);
            if (data.kind === 'open') open(data.url);
            if (data.kind === 'go') {
                if (data.target === '_self') world.location.href = archive(data.url);
                else {
                    const frame = frameNamed(String(data.target));
                    if (frame) frame.location.href = archive(data.url, 'if_');
                    else open(data.url);
                }
            }
        };
        accessor(prototype('MessageEvent'), 'origin', {
            get: origin => (origin === here.home ? originHere() : (labels.get(origin) ?? origin)),
        });
        accessor(prototype('Document'), 'title', {
            set(value, native) {
                native(value);
                announce();
            },
        });
        const watchTitle = () => {
            announce();
            const title = world.document.querySelector('head > title');
            if (title)
                new world.MutationObserver(announce).observe(title, {
                    childList: true,
                    characterData: true,
                    subtree: true,
                });
        };
        // Listeners are kept by identity, so that asking again after document.open, which forgets them, adds none twice.
        function listen() {
            const on = (name, what, capture) => world.addEventListener(name, what, capture);
            on('message', onMessage);
            on('click', onClick);
            on('auxclick', onClick);
            on('submit', onSubmit);
            on('load', sweep, true);
            on('load', announce);
            on('DOMContentLoaded', watchTitle);
            on('popstate', announce);
            on('scroll', onScroll);
            on('hashchange', announce);
            world.navigation?.addEventListener('navigate', onNavigate);
        }
        listen();
        sweep();
        let installed = document;
        define(world, KEY, {
            value: next => {
                // A fragment that the page fetched may bring the tag along, and a library run it: that is no new document.
                if (installed === world.document) return;
                installed = world.document;
                map.set({ virtual: undefined, ...next });
                listen();
            },
        });
    }

    // A Storage that lasts as long as its document.
    function storage(world) {
        const items = new Map();
        const calls = {
            getItem: name => items.get(String(name)) ?? null,
            setItem: (name, value) => void items.set(String(name), String(value)),
            removeItem: name => void items.delete(String(name)),
            clear: () => items.clear(),
            key: at => Array.from(items.keys())[at] ?? null,
        };
        return new Proxy(Object.create(world.Storage.prototype), {
            get: (_, name) =>
                name === 'length'
                    ? items.size
                    : (calls[name] ?? (typeof name === 'string' ? items.get(name) : undefined)),
            set: (_, name, value) => (items.set(String(name), String(value)), true),
            deleteProperty: (_, name) => (items.delete(String(name)), true),
            has: (_, name) => name in calls || name === 'length' || items.has(name),
            ownKeys: () => Array.from(items.keys()),
            getOwnPropertyDescriptor: (_, name) =>
                items.has(name)
                    ? { value: items.get(name), writable: true, enumerable: true, configurable: true }
                    : undefined,
        });
    }

    const script = globalThis.document?.currentScript;
    if (script) {
        const { stamp, url, mode } = script.dataset;
        const home = new URL(script.src).origin;
        script.remove();
        installWindow(globalThis, { stamp, url, mode, home });
    } else if (globalThis.herodotus && !globalThis.document) {
        const given = globalThis.herodotus;
        delete globalThis.herodotus;
        installWorker(globalThis, given);
    }
})();
