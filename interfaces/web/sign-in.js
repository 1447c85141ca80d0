"use strict";

const part = (id) => document.getElementById(id);

async function call(method, path, body) {
  const headers = { "Content-Type": "application/json" };
  const response = await fetch(path, { method, headers, body: body && JSON.stringify(body) });
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.detail);
  return answer;
}

function show(id) {
  for (const each of ["link", "password"]) part(each).hidden = each !== id;
  part("said").textContent = "";
}

// Only to a page of ours: a link made by somebody else must not lead away after signing in.
function goOn() {
  const next = new URLSearchParams(location.search).get("next") ?? "/";
  const target = new URL(next, location.origin);
  location.replace(target.origin === location.origin ? target.pathname + target.search : "/");
}

async function attempt(work, button) {
  button.disabled = true;
  try {
    await work();
    goOn();
  } catch (error) {
    part("said").textContent = error instanceof TypeError ? "The server cannot be reached. Try again." : error.message;
  } finally {
    button.disabled = false;
  }
}

async function begin() {
  if (location.hash.length > 1) {
    show("link");
    return;
  }
  try {
    await call("GET", "/api/session");
    goOn();
    return;
  } catch {
    show("password"); // nobody is signed in
  }
  const ways = await call("GET", "/api/sign-in");
  if (ways.oidc) {
    part("oidc").textContent = `Sign in with ${ways.oidc}`;
    part("oidc").hidden = false;
  }
}

// A link does nothing until its button is pressed: whatever opens links to look at them uses none up.
part("use-link").addEventListener("click", (event) =>
  attempt(() => call("POST", "/api/session/link", { token: location.hash.slice(1) }), event.currentTarget),
);

part("password").addEventListener("submit", (event) => {
  event.preventDefault();
  const form = event.currentTarget;
  attempt(async () => {
    await call("POST", "/api/session", Object.fromEntries(new FormData(form)));
    form.reset();
  }, form.querySelector("button"));
});

// A link opened in a tab that shows this page already loads nothing anew.
addEventListener("hashchange", begin);

begin();
