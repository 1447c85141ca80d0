// What people can do with a request, as calls to the server.

import { answer, api, type RequestView } from "../api/client";

const at = (id: string) => ({ path: { id } });
const noted = (note: string) => ({ note: note.trim() === "" ? null : note });

export const claim = (id: string, note = ""): Promise<RequestView> =>
  answer(api.POST("/api/requests/{id}/claim", { params: at(id), body: noted(note) }));

export const release = (id: string, note: string): Promise<RequestView> =>
  answer(api.POST("/api/requests/{id}/release", { params: at(id), body: noted(note) }));

export const delegate = (id: string, to: string, note: string): Promise<RequestView> =>
  answer(api.POST("/api/requests/{id}/delegate", { params: at(id), body: { to, ...noted(note) } }));

/** To a person, into the inbox of a list, or, with neither, wherever routing says now. */
export const reassign = (id: string, to: { to?: string; list?: string }, note: string): Promise<RequestView> =>
  answer(api.POST("/api/requests/{id}/reassign", { params: at(id), body: { ...to, ...noted(note) } }));

export const snooze = (id: string, until: string): Promise<RequestView> =>
  answer(api.POST("/api/requests/{id}/snooze", { params: at(id), body: { until } }));

export const wake = (id: string): Promise<{ position: number }> =>
  answer(api.DELETE("/api/requests/{id}/snooze", { params: at(id) }));

export const cancel = (id: string, reason: string): Promise<RequestView> =>
  answer(
    api.POST("/api/requests/{id}/cancel", { params: at(id), body: { reason: reason.trim() === "" ? null : reason } }),
  ) as Promise<RequestView>;
