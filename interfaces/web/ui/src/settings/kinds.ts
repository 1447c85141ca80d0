// The collections of the directory: what an entry of each says, and the calls that read and write it.

import { answer, api, type Schemas } from "../api/client";
import type { StrategyValue } from "./strategy";

export interface Entry {
  id: string;
  name: string | null;
}

export interface Span {
  from: string;
  to: string;
}

export interface Away extends Span {
  stand_in?: string | null;
}

/** What people may say of themselves too. */
export interface Availability {
  time_zone: string | null;
  quiet_hours: Span | null;
  out_of_office: Away | null;
  slack_user_id: string | null;
}

export interface Person extends Entry, Availability {
  email: string | null;
  role: Schemas["Role"];
  active: boolean;
}

export type MemberList = Schemas["ListView"];
export type Agent = Schemas["AgentView"];

export interface AgentType extends Entry {
  assignment_strategy: StrategyValue;
}

export interface Category extends Entry {
  parent: string | null;
  assignment_strategy: StrategyValue;
}

/** Numbers may be text while they are none: the server then says what is wrong with them. */
export interface RequestType extends Entry {
  default_assignment_strategy: StrategyValue;
  default_priority: number | string | null;
  default_expiration_minutes: number | string | null;
  no_self_answer: boolean;
  erase_after_days: number | string | null;
}

export type Key = Schemas["KeyView"];

export type Body = Record<string, unknown>;
type Created = Schemas["CreatedEntry"];
type Written = Schemas["Written"];

interface Page {
  items: unknown[];
  next_cursor: string | null;
}

interface Query {
  query: { limit: number; cursor: string | undefined; min_position: number | undefined };
}

export interface Kind<T extends Entry> {
  name: string;
  page: (params: Query) => Promise<Page>;
  add: (body: Body) => Promise<Created>;
  change: (id: string, body: Body) => Promise<Written>;
  remove: (id: string) => Promise<Written>;
  /** Never there: says what the entries are. */
  of?: T;
}

const of = (id: string) => ({ path: { id } });

export const people: Kind<Person> = {
  name: "users",
  page: (params) => answer(api.GET("/api/users", { params })),
  add: (body) => answer(api.POST("/api/users", { body: body as unknown as Schemas["NewUser"] })),
  change: (id, body) => answer(api.PATCH("/api/users/{id}", { params: of(id), body: body as Schemas["PatchUser"] })),
  remove: (id) => answer(api.DELETE("/api/users/{id}", { params: of(id) })),
};

export const lists: Kind<MemberList> = {
  name: "lists",
  page: (params) => answer(api.GET("/api/lists", { params })),
  add: (body) => answer(api.POST("/api/lists", { body: body as unknown as Schemas["NewList"] })),
  change: (id, body) => answer(api.PATCH("/api/lists/{id}", { params: of(id), body: body as Schemas["PatchList"] })),
  remove: (id) => answer(api.DELETE("/api/lists/{id}", { params: of(id) })),
};

export const agents: Kind<Agent> = {
  name: "agents",
  page: (params) => answer(api.GET("/api/agents", { params })),
  add: (body) => answer(api.POST("/api/agents", { body: body as unknown as Schemas["NewAgent"] })),
  change: (id, body) => answer(api.PATCH("/api/agents/{id}", { params: of(id), body: body as Schemas["PatchAgent"] })),
  remove: (id) => answer(api.DELETE("/api/agents/{id}", { params: of(id) })),
};

export const agentTypes: Kind<AgentType> = {
  name: "agent-types",
  page: (params) => answer(api.GET("/api/agent-types", { params })),
  add: (body) => answer(api.POST("/api/agent-types", { body: body as unknown as Schemas["NewAgentType"] })),
  change: (id, body) =>
    answer(api.PATCH("/api/agent-types/{id}", { params: of(id), body: body as Schemas["PatchAgentType"] })),
  remove: (id) => answer(api.DELETE("/api/agent-types/{id}", { params: of(id) })),
};

export const categories: Kind<Category> = {
  name: "categories",
  page: (params) => answer(api.GET("/api/categories", { params })),
  add: (body) => answer(api.POST("/api/categories", { body: body as unknown as Schemas["NewCategory"] })),
  change: (id, body) =>
    answer(api.PATCH("/api/categories/{id}", { params: of(id), body: body as Schemas["PatchCategory"] })),
  remove: (id) => answer(api.DELETE("/api/categories/{id}", { params: of(id) })),
};

export const requestTypes: Kind<RequestType> = {
  name: "request-types",
  page: (params) => answer(api.GET("/api/request-types", { params })),
  add: (body) => answer(api.POST("/api/request-types", { body: body as unknown as Schemas["NewRequestType"] })),
  change: (id, body) =>
    answer(api.PATCH("/api/request-types/{id}", { params: of(id), body: body as Schemas["PatchRequestType"] })),
  remove: (id) => answer(api.DELETE("/api/request-types/{id}", { params: of(id) })),
};

/** Adding answers with the key itself too: see `Keys`. */
export const keys: Kind<Key> = {
  name: "keys",
  page: (params) => answer(api.GET("/api/keys", { params })),
  add: (body) => answer(api.POST("/api/keys", { body: body as unknown as Schemas["NewKeyBody"] })),
  change: (id, body) => answer(api.PATCH("/api/keys/{id}", { params: of(id), body: body as Schemas["PatchKey"] })),
  remove: (id) => answer(api.DELETE("/api/keys/{id}", { params: of(id) })),
};
