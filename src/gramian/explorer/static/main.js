// The page in a browser: verbs over HTTP, the state in the address.
import { explorer } from "./explorer.js";

const token = new URL(location.href).searchParams.get("token") || "";

async function call(verb, input, options = {}) {
  try {
    const response = await fetch(`/call/${verb}`, {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-Gramian-Token": token },
      body: JSON.stringify(input || {}),
      signal: options.signal,
    });
    return { status: response.status, output: await response.json() };
  } catch (cause) { // nobody there, or gone in the middle of an answer
    throw Object.assign(new Error("The server does not answer."), { lost: true, cause });
  }
}

async function upload(file, heard) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", `/upload?name=${encodeURIComponent(file.name)}`);
    request.setRequestHeader("X-Gramian-Token", token);
    request.setRequestHeader("Content-Type", "application/octet-stream");
    request.upload.onprogress = (event) => event.lengthComputable && heard(event.loaded / event.total);
    request.onerror = () => reject(new Error("The file could not be sent."));
    request.onload = () => {
      let output = {};
      try { output = JSON.parse(request.responseText); } catch { output = { error: "The file could not be sent." }; }
      if (request.status === 200) resolve(output);
      else reject(new Error(output.error));
    };
    request.send(file);
  });
}

explorer(document.body, {
  call,
  upload,
  open: (next) => location.assign(`/?token=${encodeURIComponent(next)}`),
  readState: () => location.hash.slice(1),
  writeState: (text) => history.replaceState(null, "", `#${text}`),
  lost: "Disconnected: the server does not answer. The page tries again by itself.",
  setTitle: (text) => { document.title = text; },
});
