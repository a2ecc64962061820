// The control protocol in a browser. Requests use only POST /rpc, and the stream of events uses GET /events.

// The server accepts batches of up to 1,000 requests.
const MOST_AT_ONCE = 900;

export class Failure extends Error {
  constructor(error) {
    super(error.message);
    this.kind = error.data?.kind ?? "server";
    this.advice = error.data?.advice;
    this.problems = error.data?.problems ?? [];
  }
}

export class NoServer extends Error {}
export class WrongToken extends Error {}

export class Server {
  constructor(token) { this.token = token; this.nextID = 1; }

  async post(body) {
    let answer;
    try {
      answer = await fetch("/rpc", {
        method: "POST", body: JSON.stringify(body),
        headers: { "Authorization": `Bearer ${this.token}`, "Content-Type": "application/json" },
      });
    } catch (error) {
      throw new NoServer("the server does not answer", { cause: error });
    }
    if (answer.status === 401) throw new WrongToken("the token is wrong");
    if (!answer.ok) throw new NoServer(await answer.text());
    return answer.json();
  }

  async call(method, params = {}) {
    const answer = await this.post({ jsonrpc: "2.0", id: this.nextID++, method, params });
    if (answer.error) throw new Failure(answer.error);
    return answer.result;
  }

  // Sends several requests at once and returns the results in the same order. The result of a request that fails is a
  // Failure.
  async batch(calls) {
    if (calls.length > MOST_AT_ONCE) return [...await this.batch(calls.slice(0, MOST_AT_ONCE)), ...await this.batch(calls.slice(MOST_AT_ONCE))];
    if (calls.length === 0) return [];
    const first = this.nextID;
    this.nextID += calls.length;
    const answers = await this.post(calls.map(([method, params = {}], index) =>
      ({ jsonrpc: "2.0", id: first + index, method, params })));
    const byID = new Map(answers.map((answer) => [answer.id, answer]));
    return calls.map((_, index) => {
      const answer = byID.get(first + index);
      return answer?.result ?? new Failure(answer?.error ?? { message: "no answer" });
    });
  }

  // Reads the stream of events until it ends. Calls `started` when the stream is open.
  async listen(started, take, signal) {
    let answer;
    try {
      answer = await fetch("/events", { headers: { "Authorization": `Bearer ${this.token}` }, signal });
    } catch (error) {
      throw new NoServer("the server does not answer", { cause: error });
    }
    if (answer.status === 401) throw new WrongToken("the token is wrong");
    if (!answer.ok) throw new NoServer(await answer.text());
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    started();
    try {
      while (true) {
        const { value, done } = await reader.read();
        if (done) return;
        const lines = (rest + value).split("\n");
        rest = lines.pop();
        for (const line of lines) if (line.startsWith("data: ")) take(JSON.parse(line.slice(6)));
      }
    } catch (error) {
      if (signal?.aborted) return;
      throw new NoServer("the stream of events ended", { cause: error });
    }
  }
}

// Formats a request as a line of JSON-RPC, or as a shell command.
export function asJSON(method, params) { return JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }); }

export function asCommand(method, params) {
  const words = ["easim", "ctl", method];
  for (const [key, value] of Object.entries(params)) {
    const all = Array.isArray(value) ? value : [value];
    for (const one of all) words.push(quoted(`${key}=${typeof one === "object" ? JSON.stringify(one) : one}`));
  }
  return words.join(" ");
}

function quoted(word) { return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`; }
