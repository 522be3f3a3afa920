"""Drives a headless Chromium through the DevTools protocol over a pair of pipes. Needs only Python and the browser.

https://chromedevtools.github.io/devtools-protocol/ describes methods and events. Messages are JSON texts that end with
a zero byte (chromium --remote-debugging-pipe)."""
import base64
import fcntl
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time

NAMES = ('chromium', 'chromium-browser', 'google-chrome')


def find_chromium():
    """Path of a Chromium that runs, or None."""
    for name in (os.environ.get('PATCHBENCH_CHROMIUM'), *NAMES):
        program = shutil.which(name) if name else None
        if program and subprocess.run([program, '--version'], capture_output=True, check=False).returncode == 0:
            return program
    return None


class Browser:
    """One browser process with one page; a context manager."""

    def __init__(self, program, timeout_s=60):
        self._timeout_s = timeout_s
        self._profile = tempfile.TemporaryDirectory(prefix='patchbench-chromium-')
        own_end, to_browser = os.pipe()
        from_browser, other_end = os.pipe()
        # The browser reads from descriptor 3 and writes to 4. Moving the pipes up first keeps dup2 from overwriting
        # one.
        read_end, write_end = (fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (own_end, other_end))
        options = ['--headless=new', '--remote-debugging-pipe', f'--user-data-dir={self._profile.name}', '--disable-gpu',
                   '--disable-dev-shm-usage', '--no-first-run', '--disable-background-networking', '--hide-scrollbars',
                   '--disable-component-update', '--force-color-profile=srgb', 'about:blank']
        if os.geteuid() == 0:
            options.insert(0, '--no-sandbox')

        def place_pipes():
            os.dup2(read_end, 3)
            os.dup2(write_end, 4)

        self._process = subprocess.Popen([program, *options], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                         stderr=subprocess.DEVNULL, preexec_fn=place_pipes, pass_fds=(3, 4),
                                         env=dict(os.environ, TMPDIR=self._profile.name), start_new_session=True)
        for end in (own_end, other_end, read_end, write_end):
            os.close(end)
        self._in, self._out = to_browser, from_browser
        self._received = b''
        self._last_id = 0
        self.events = []
        targets = self.call('Target.getTargets')['targetInfos']
        page = next(target['targetId'] for target in targets if target['type'] == 'page')
        self._session = None
        self._session = self.call('Target.attachToTarget', targetId=page, flatten=True)['sessionId']
        for domain in ('Page', 'Runtime', 'Log', 'Network'):
            self.call(f'{domain}.enable')

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        try:
            os.killpg(self._process.pid, signal.SIGKILL)  # the browser and its children have their own session
        except ProcessLookupError:
            pass
        self._process.wait()
        os.close(self._in)
        os.close(self._out)
        for attempt in range(5):
            try:
                self._profile.cleanup()
                return
            except OSError:  # a child of the browser was still writing
                time.sleep(0.2 * (attempt + 1))

    def _receive(self, until):
        """Returns the next message. Raises TimeoutError after `until` (monotonic seconds)."""
        while b'\0' not in self._received:
            left = until - time.monotonic()
            if left <= 0 or not select.select([self._out], [], [], left)[0]:
                raise TimeoutError('the browser does not answer')
            content = os.read(self._out, 1 << 20)
            if not content:
                raise ConnectionError('the browser has ended')
            self._received += content
        message, _, self._received = self._received.partition(b'\0')
        return json.loads(message)

    def call(self, method, **parameters):
        """Returns the result of a method. Keeps events that arrive before it in `events`."""
        self._last_id += 1
        message = {'id': self._last_id, 'method': method, 'params': parameters}
        if getattr(self, '_session', None):
            message['sessionId'] = self._session
        os.write(self._in, json.dumps(message).encode() + b'\0')
        until = time.monotonic() + self._timeout_s
        while True:
            answer = self._receive(until)
            if answer.get('id') == self._last_id:
                if 'error' in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer['result']
            if 'method' in answer:
                self.events.append(answer)

    def wait_for(self, event):
        until = time.monotonic() + self._timeout_s
        while not any(seen['method'] == event for seen in self.events):
            message = self._receive(until)
            if 'method' in message:
                self.events.append(message)

    def open(self, url):
        """Opens a page, waits until it is loaded, and discards the messages of earlier pages."""
        self.events = []
        self.call('Page.navigate', url=url)
        self.wait_for('Page.loadEventFired')

    def evaluate(self, expression):
        """Returns the value of a JavaScript expression; awaits a promise."""
        answer = self.call('Runtime.evaluate', expression=expression, returnByValue=True, awaitPromise=True)
        if 'exceptionDetails' in answer:
            details = answer['exceptionDetails']
            raise RuntimeError(details.get('exception', {}).get('description', details['text']))
        return answer['result'].get('value')

    def resize(self, width, height, mobile=False):
        self.call('Emulation.setDeviceMetricsOverride', width=width, height=height, deviceScaleFactor=1, mobile=mobile)

    def prefer(self, scheme):
        """Sets the colour scheme that the system asks for: light or dark."""
        self.call('Emulation.setEmulatedMedia', features=[{'name': 'prefers-color-scheme', 'value': scheme}])

    def drag(self, start, end):
        """Drags the mouse from one (x, y) of the window to another."""
        def mouse(kind, place, buttons):
            self.call('Input.dispatchMouseEvent', type=kind, x=place[0], y=place[1], button='left', buttons=buttons,
                      clickCount=1)
        mouse('mouseMoved', start, 0)
        mouse('mousePressed', start, 1)
        mouse('mouseMoved', end, 1)
        mouse('mouseReleased', end, 0)

    def screenshot(self, file, selector=None):
        """Returns a PNG of the whole page, or of the first element that matches `selector`."""
        target = f'document.querySelector({json.dumps(selector)})' if selector else 'document.documentElement'
        box = self.evaluate(f'(() => {{ const b = {target}.getBoundingClientRect(); '
                            'return {x: b.x + scrollX, y: b.y + scrollY, width: b.width, height: b.height}; })()')
        picture = self.call('Page.captureScreenshot', format='png', captureBeyondViewport=True, clip={**box, 'scale': 1})
        file.write_bytes(base64.b64decode(picture['data']))

    def complaints(self):
        """Returns errors and warnings of the console, exceptions, and the browser's log entries."""
        found = []
        for event in self.events:
            parameters = event.get('params', {})
            if event['method'] == 'Runtime.exceptionThrown':
                details = parameters['exceptionDetails']
                found.append(details.get('exception', {}).get('description', details['text']))
            if event['method'] == 'Runtime.consoleAPICalled' and parameters['type'] in ('error', 'warning', 'assert'):
                found.append(' '.join(str(one.get('value', one.get('description'))) for one in parameters['args']))
            if event['method'] == 'Log.entryAdded' and parameters['entry']['level'] in ('error', 'warning'):
                found.append(parameters['entry']['text'])
        return found

    def requests(self):
        """Returns the addresses that the page requested, except data: and blob:."""
        addresses = [event['params']['request']['url'] for event in self.events
                     if event['method'] == 'Network.requestWillBeSent']
        return [address for address in addresses if not address.startswith(('data:', 'blob:'))]
