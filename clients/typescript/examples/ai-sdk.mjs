/**
 * The Vercel AI SDK with guarded tools: each call is checked, and a person asked when the model is stuck.
 *
 * `repairToolCall` hands on what is no JSON, so that it counts as well.
 */

import { createOpenAI } from "@ai-sdk/openai";
import { generateText, isStepCount, tool } from "ai";
import { Client } from "retrycontract";
import { guardTools, repairToolCall } from "retrycontract/ai";
import { z } from "zod";

const openai = createOpenAI({ baseURL: process.env.OPENAI_BASE_URL });
const airport = z.string().regex(/^[A-Z]{3}$/).describe("IATA code of the airport");
const book_flight = tool({
  description: "Book a seat on a flight.",
  inputSchema: z.object({ origin: airport, destination: airport, cabin: z.enum(["economy", "business"]) }),
  execute: async ({ origin, destination, cabin }) => `The flight from ${origin} to ${destination} is booked in ${cabin}.`,
});

const session = new Client().session();
const { text } = await generateText({
  model: openai.chat(process.env.MODEL ?? "gpt-5-mini"),
  tools: guardTools(session, { book_flight }),
  repairToolCall,
  stopWhen: isStepCount(20),
  prompt: "A business seat from Zurich to London, please.",
});
console.log(text);
