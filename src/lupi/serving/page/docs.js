// What the server answers, from its own openapi.json; each operation can be tried.

const token = sessionStorage.getItem("lupi-token");
const headers = token ? { authorization: `Bearer ${token}` } : {};
document.documentElement.dataset.theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";

const element = (tag, attributes = {}, ...children) => {
  const found = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) found.setAttribute(name, value);
  found.append(...children);
  return found;
};

function typeOf(schema, schemas) {
  if (schema.$ref) return schema.$ref.split("/").at(-1);
  if (schema.anyOf) return schema.anyOf.map((one) => typeOf(one, schemas)).join(" or ");
  if (schema.type === "array") return `list of ${typeOf(schema.items || {}, schemas)}`;
  return schema.type || "anything";
}

function fields(schema, schemas) {
  const list = element("dl");
  for (const [name, field] of Object.entries(schema.properties || {})) {
    list.append(element("dt", {}, `${name}: ${typeOf(field, schemas)}`), element("dd", {}, (field.description || "").replace(/\s+/g, " ")));
  }
  return list;
}

function operation(path, method, told, schemas) {
  const card = element("section", { class: "card" }, element("h2", {}, `${method.toUpperCase()} ${path}`), element("p", {}, (told.description || told.summary || "").replace(/\s+/g, " ")));
  const content = told.requestBody?.content;
  const kinds = Object.keys(content || {});
  const address = element("input", { "aria-label": `Address of ${method.toUpperCase()} ${path}`, size: "40" });
  address.value = path.replace("{name}", "stiffness");
  const row = element("div", { class: "bar" }, address);
  const body = element("textarea", { rows: "7", spellcheck: "false", "aria-label": `Body of ${method.toUpperCase()} ${path}` });
  const kind = element("select", { "aria-label": `Kind of body of ${method.toUpperCase()} ${path}` }, ...kinds.map((one) => element("option", {}, one)));
  const fill = () => {
    const { example } = content[kind.value];
    body.value = typeof example === "string" ? example : JSON.stringify(example, null, 1);
  };
  if (kinds.length) {
    kind.onchange = fill;
    fill();
    row.append(kind);
  }
  const send = element("button", { type: "button" }, "Send");
  row.append(send);
  const answer = element("pre", { tabindex: "0", role: "status" });
  answer.hidden = true;
  send.onclick = async () => {
    const asked = kinds.length ? { method: "POST", body: body.value, headers: { ...headers, "content-type": kind.value } } : { headers };
    const response = await fetch(address.value.replace(/^\//, ""), asked);
    const text = await response.text();
    answer.hidden = false;
    answer.textContent = `${response.status}\n${text.slice(0, 20_000)}`;
  };
  card.append(row);
  if (kinds.length) card.append(body);
  card.append(answer);
  const schema = content?.["application/json"]?.schema;
  if (schema) card.append(element("details", {}, element("summary", {}, "Fields of the request"), fields(schema, schemas)));
  const given = told.responses?.["200"]?.content?.["application/json"]?.schema?.$ref?.split("/").at(-1);
  if (given) card.append(element("details", {}, element("summary", {}, `Fields of the answer (${given})`), fields(schemas[given], schemas)));
  return card;
}

const response = await fetch("openapi.json", { headers });
const told = await response.json();
const place = document.getElementById("operations");
if (!response.ok) place.append(element("p", {}, told.error));
for (const [path, methods] of Object.entries(told.paths || {})) {
  for (const [method, one] of Object.entries(methods)) place.append(operation(path, method, one, told.components.schemas));
}
