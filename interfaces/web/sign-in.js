"use strict";

const part = (id) => document.getElementById(id);
let session = null;

async function call(method, path, body) {
  const headers = { "Content-Type": "application/json" };
  if (session) headers["X-CSRF-Token"] = session.csrf_token;
  const response = await fetch(path, { method, headers, body: body && JSON.stringify(body) });
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.detail);
  return answer;
}

function show(id) {
  for (const each of ["link", "password", "inside"]) part(each).hidden = each !== id;
  part("said").textContent = "";
}

function enter(opened) {
  session = opened;
  part("user").textContent = opened.user;
  show("inside");
}

async function attempt(work, button) {
  button.disabled = true;
  try {
    await work();
  } catch (error) {
    part("said").textContent = error instanceof TypeError ? "The server cannot be reached. Try again." : error.message;
  } finally {
    button.disabled = false;
  }
}

async function begin() {
  const token = location.hash.slice(1);
  try {
    enter(await call("GET", "/api/session"));
    if (!token) return;
  } catch {
    session = null; // nobody is signed in
  }
  if (token) {
    show("link");
    return;
  }
  show("password");
  const ways = await call("GET", "/api/sign-in");
  if (ways.oidc) {
    part("oidc").textContent = `Sign in with ${ways.oidc}`;
    part("oidc").hidden = false;
  }
}

// A link does nothing until its button is pressed: whatever opens links to look at them uses none up.
part("use-link").addEventListener("click", (event) =>
  attempt(async () => {
    const opened = await call("POST", "/api/session/link", { token: location.hash.slice(1) });
    history.replaceState(null, "", location.pathname);
    enter(opened);
  }, event.currentTarget),
);

part("password").addEventListener("submit", (event) => {
  event.preventDefault();
  const form = event.currentTarget;
  attempt(async () => {
    const fields = Object.fromEntries(new FormData(form));
    enter(await call("POST", "/api/session", fields));
    form.reset();
  }, form.querySelector("button"));
});

part("out").addEventListener("click", (event) =>
  attempt(async () => {
    await call("DELETE", "/api/session");
    session = null;
    await begin();
  }, event.currentTarget),
);

// A link opened in a tab that shows this page already loads nothing anew.
addEventListener("hashchange", begin);

begin();
