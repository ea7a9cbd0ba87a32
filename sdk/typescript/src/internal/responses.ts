import type { AgentInputItem } from "@openai/agents-core";

/**
 * Items of the Python SDK, which stores the input of the Responses interface, in the form of this one.
 *
 * @internal
 */
type Item = Record<string, unknown>;

const isRecord = (value: unknown): value is Item =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Returns a stored item in this SDK's form; one that the SDK has no form for is "unknown". @internal */
export function protocolItem(item: Item): AgentInputItem {
  return convert(item) as AgentInputItem;
}

function convert(item: Item): Item {
  const { type } = item;
  if (type === undefined || type === "message") return message(item);
  if ("providerData" in item || "callId" in item) return item;
  switch (type) {
    case "function_call":
      return "call_id" in item ? functionCall(item) : item;
    case "function_call_output":
      return functionResult(item);
    case "reasoning":
      return "summary" in item ? reasoning(item) : item;
    case "web_search_call":
    case "file_search_call":
    case "code_interpreter_call":
    case "image_generation_call":
    case "mcp_call":
    case "mcp_list_tools":
    case "mcp_approval_request":
    case "mcp_approval_response":
      return hostedCall(item);
    case "function_call_result":
    case "hosted_tool_call":
    case "compaction":
    case "unknown":
      return item;
  }
  return "id" in item || "call_id" in item ? unknown(item) : item;
}

function unknown(item: Item): Item {
  return { type: "unknown", ...("id" in item ? { id: item["id"] } : {}), providerData: item };
}

/** An item without names, and those names as the provider's own data. */
function withOwn(made: Item, own: Item): Item {
  return Object.keys(own).length > 0 ? { ...made, providerData: own } : made;
}

function message(item: Item): Item {
  const { content } = item;
  if (!Array.isArray(content)) return item;
  return { ...item, content: content.map((part: unknown) => (isRecord(part) ? messagePart(part) : part)) };
}

function messagePart(part: Item): Item {
  switch (part["type"]) {
    case "output_text": {
      if ("providerData" in part) return part;
      const { type, text, ...own } = part;
      return withOwn({ type, text }, own);
    }
    case "input_image": {
      if ("image" in part) return part;
      const { image_url: url, file_id: id, ...rest } = part;
      return { ...rest, ...(typeof id === "string" ? { image: { id } } : { image: url }) };
    }
    case "input_file": {
      if ("file" in part) return part;
      const { file_url: url, file_data: data, file_id: id, ...rest } = part;
      if (typeof id === "string") return { ...rest, file: { id } };
      return { ...rest, file: typeof url === "string" ? { url } : data };
    }
  }
  return part;
}

function functionCall(item: Item): Item {
  const { type, id, call_id: callId, name, namespace, arguments: given, status, ...own } = item;
  const made = { type, ...optional({ id, namespace, status }), callId, name, arguments: given };
  return withOwn(made, own);
}

function functionResult(item: Item): Item {
  const { id, call_id: callId, name, status, output, type: _, ...own } = item;
  const said = Array.isArray(output)
    ? output.map((part: unknown) => (isRecord(part) ? messagePart(part) : part))
    : output;
  const made = {
    type: "function_call_result",
    ...optional({ id }),
    callId,
    name: name ?? callId,
    status: status ?? "completed",
    output: said,
  };
  return withOwn(made, own);
}

function reasoning(item: Item): Item {
  const { type, id, summary, content, ...own } = item;
  const texts = Array.isArray(summary) ? summary.filter(isRecord) : [];
  const made = {
    type,
    ...optional({ id, rawContent: content }),
    content: texts.map((part) => ({ type: "input_text", text: part["text"] })),
  };
  return withOwn(made, own);
}

function hostedCall(item: Item): Item {
  const { id, status, ...own } = item;
  return { type: "hosted_tool_call", ...optional({ id, status }), name: item["type"], providerData: own };
}

function optional(values: Item): Item {
  return Object.fromEntries(
    Object.entries(values).filter(([, value]) => value !== undefined && value !== null),
  );
}
