/** What a server's process tells the bench that started it: a figure for each question. */

/** Figures by question; without a value where there is none. */
export type Answers = Readonly<Record<string, () => unknown>>

interface Question {
  readonly question: string
}

/**
 * The server listens on this port, and for gRPC on the other: from now on questions are answered, one after the other.
 */
export function answering(port: number | undefined, answers: Answers, grpc?: number): void {
  process.on('message', ({ question }: Question) => void reply(question, answers))
  process.send?.({ port, grpc })
}

async function reply(question: string, answers: Answers): Promise<void> {
  try {
    const answer = answers[question]
    if (answer === undefined) throw new Error(`nobody knows the question ${question}`)
    process.send?.({ answer: await answer() })
  } catch (error) {
    process.send?.({ error: String(error) })
  }
}
