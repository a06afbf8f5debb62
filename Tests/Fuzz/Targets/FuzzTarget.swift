/// A decoder or parser of bytes from strangers. For any bytes, it neither traps nor hangs nor allocates out of
/// proportion; what it accepts it can encode and decode again.
package enum FuzzTarget: String, CaseIterable, Sendable {
    case query, clientMessages, serverMessages, values, lists, journal, webSocket, http, httpBodies, csv, jsonLines,
        tokens,
        keySets, rules, schemaFiles, numbers, figures, backups, archiveSegments, jsonMessages

    /// Feeds an input to the target, and traps if the target breaks its promise.
    package func run(_ bytes: [UInt8]) {
        switch self {
        case .query: QueryTarget.run(bytes)
        case .clientMessages: MessageTarget.runClient(bytes)
        case .serverMessages: MessageTarget.runServer(bytes)
        case .values: ValueTarget.run(bytes)
        case .lists: ListTarget.run(bytes)
        case .journal: JournalTarget.run(bytes)
        case .webSocket: WebSocketTarget.run(bytes)
        case .http: HTTPTarget.run(bytes)
        case .httpBodies: HTTPBodyTarget.run(bytes)
        case .csv: ImportTarget.run(bytes, extension: "csv")
        case .jsonLines: ImportTarget.run(bytes, extension: "jsonl")
        case .tokens: TokenTarget.run(bytes)
        case .keySets: TokenTarget.runKeySet(bytes)
        case .rules: RulesTarget.run(bytes)
        case .schemaFiles: RulesTarget.runSchema(bytes)
        case .numbers: NumberTarget.run(bytes)
        case .figures: FiguresTarget.run(bytes)
        case .backups: BackupTarget.run(bytes)
        case .archiveSegments: BackupTarget.runSegment(bytes)
        case .jsonMessages: JSONMessageTarget.run(bytes)
        }
    }
}
