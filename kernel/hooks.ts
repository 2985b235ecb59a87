/**
 * The four ways of calling what was contributed to a point. Each is compiled once, from the frozen list, into one function;
 * as long as the handlers answer at once no promise is made, and an answer that is a promise is awaited before the next.
 *
 *   first      asks in order until one answers with something other than undefined
 *   series     runs in order; a throw refuses, and the rest is not asked
 *   waterfall  passes a value through all
 *   parallel   tells all, after the fact: nobody can veto, and failures go to `onError` only
 */
type MaybePromise<T> = T | Promise<T>

/** Compiles to: the first answer that is not undefined, else undefined. */
export function compileFirst<Input, Answer>(
  handlers: readonly ((input: Input) => MaybePromise<Answer | undefined>)[],
): (input: Input) => MaybePromise<Answer | undefined> {
  const list = [...handlers]
  const from = (start: number, input: Input): MaybePromise<Answer | undefined> => {
    for (let i = start; i < list.length; i++) {
      const answer = list[i](input)
      if (answer instanceof Promise) return answer.then(late => (late === undefined ? from(i + 1, input) : late))
      if (answer !== undefined) return answer
    }
    return undefined
  }
  return input => from(0, input)
}

/** Compiles to: all handlers one after the other; what one throws reaches the caller and ends it. */
export function compileSeries<Input>(
  handlers: readonly ((input: Input) => MaybePromise<void>)[],
): (input: Input) => MaybePromise<void> {
  const list = [...handlers]
  const from = (start: number, input: Input): MaybePromise<void> => {
    for (let i = start; i < list.length; i++) {
      const answer = list[i](input)
      if (answer instanceof Promise) return answer.then(() => from(i + 1, input))
    }
  }
  return input => from(0, input)
}

/** Compiles to: each handler gets what the one before returned; without handlers the value itself. */
export function compileWaterfall<Value, Context = undefined>(
  handlers: readonly ((value: Value, context: Context) => MaybePromise<Value>)[],
): (value: Value, context: Context) => MaybePromise<Value> {
  const list = [...handlers]
  const from = (start: number, value: Value, context: Context): MaybePromise<Value> => {
    let current = value
    for (let i = start; i < list.length; i++) {
      const next = list[i](current, context)
      if (next instanceof Promise) return next.then(late => from(i + 1, late, context))
      current = next
    }
    return current
  }
  return (value, context) => from(0, value, context)
}

/** Compiles to: all handlers are called before it returns; it never throws. `onError` must not throw either. */
export function compileParallel<Input>(
  handlers: readonly ((input: Input) => MaybePromise<void>)[],
  onError: (error: unknown) => void,
): (input: Input) => void {
  const list = [...handlers]
  return input => {
    for (let i = 0; i < list.length; i++) {
      try {
        const answer = list[i](input)
        if (answer instanceof Promise) answer.catch(onError)
      } catch (error) {
        onError(error)
      }
    }
  }
}
