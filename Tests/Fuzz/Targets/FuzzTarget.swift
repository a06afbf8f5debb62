/// A decoder or parser that takes bytes from strangers. Whatever they are, it neither traps nor hangs nor takes memory out of
/// proportion; what it accepts it can write and read again.
package enum FuzzTarget: String, CaseIterable, Sendable {
    case query, clientMessages, serverMessages, values, webSocket, http, csv, jsonLines

    /// Feeds an input to the target.
    ///
    /// - Precondition: what the target promises holds for the input.
    package func run(_ bytes: [UInt8]) {
        switch self {
        case .query: QueryTarget.run(bytes)
        case .clientMessages: MessageTarget.runClient(bytes)
        case .serverMessages: MessageTarget.runServer(bytes)
        case .values: ValueTarget.run(bytes)
        case .webSocket: WebSocketTarget.run(bytes)
        case .http: HTTPTarget.run(bytes)
        case .csv: ImportTarget.run(bytes, extension: "csv")
        case .jsonLines: ImportTarget.run(bytes, extension: "jsonl")
        }
    }
}
