/**
 * A tool loop on OpenAI's JavaScript SDK whose calls are checked, and a person asked when the model is stuck.
 *
 * The loop is the usual one; `settle` and the `else` are new.
 */

import OpenAI from "openai";
import { Client } from "retrycontract";

const MODEL = process.env.MODEL ?? "gpt-5-mini";
const parameters = {
  type: "object",
  properties: {
    origin: { type: "string", pattern: "^[A-Z]{3}$", description: "IATA code of the airport" },
    destination: { type: "string", pattern: "^[A-Z]{3}$", description: "IATA code of the airport" },
    cabin: { enum: ["economy", "business"] },
  },
  required: ["origin", "destination", "cabin"],
};
const tools = [{ type: "function", function: { name: "book_flight", description: "Book a seat.", parameters } }];

function bookFlight({ origin, destination, cabin }) {
  return `The flight from ${origin} to ${destination} is booked in ${cabin}.`;
}

async function run(client, llm, messages) {
  const session = client.session();
  for (;;) {
    const completion = await llm.chat.completions.create({ model: MODEL, messages, tools });
    const { message } = completion.choices[0];
    messages.push(message);
    if (!message.tool_calls) return message.content;
    const turn = session.turn();
    for (const call of message.tool_calls) {
      const outcome = await turn.settle(call.function.name, call.id, call.function.arguments);
      const content = outcome.status === "valid" ? bookFlight(outcome.arguments) : outcome.toolResult.content;
      messages.push({ role: "tool", tool_call_id: call.id, content });
    }
  }
}

const client = new Client();
await client.registerTools(tools);
console.log(await run(client, new OpenAI(), [{ role: "user", content: "A business seat from Zurich to London, please." }]));
