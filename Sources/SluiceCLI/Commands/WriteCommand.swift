internal import Glibc
internal import Sluice
internal import SluiceExchange

/// `sluice write`: runs transactions that it reads from standard input.
struct WriteCommand: Command {
    static let description = CommandDescription(
        "write", "Write objects: one transaction for each JSON line on standard input.",
        arguments: [ServerAccess.argument], options: ServerAccess.options,
        notes: [
            "A line is {\"op\":\"insert\"|\"upsert\"|\"update\"|\"delete\",\"class\":…,\"key\":…|\"@id\":…,\"set\":{…},\"add\":{…},\"remove\":{…},\"move\":{…},\"insert\":{…}}. \"key\" is the primary key; \"@id\" names objects of classes without one. \"set\" gives properties new values, \"add\" adds to numbers. Links are set to their target's key. An insert fails where the object exists, an update or delete where it does not; an upsert adds the object, or sets the properties of the one that is there.",
            "An update changes single elements of collections, so that what others do to them at the same time counts too: \"remove\" and \"insert\" name elements, {\"steps\":[\"knead\"],\"tags\":[\"slow\"]}, and what goes into a list comes last, or at a position: {\"steps\":{\"at\":0,\"elements\":[\"mix\"]}}. Of a map, \"insert\" takes {\"rooms\":{\"a\":1}} and \"remove\" {\"rooms\":[\"a\"]}. \"move\" takes {\"steps\":{\"from\":2,\"to\":0}}. A line sets, adds, removes, moves and inserts, in this order.",
            "Success means that the server has everything on disk. At the first line that cannot be written the command stops; the lines before it stay written.",
        ],
        examples: [
            #"echo '{"op":"insert","class":"Car","key":"JT2","set":{"price":9000}}' | sluice write ws://127.0.0.1:9080/cars"#,
            #"echo '{"op":"update","class":"Car","key":"JT2","set":{"name":"Corolla"},"add":{"views":1}}' | sluice write ws://127.0.0.1:9080/cars"#,
            #"echo '{"op":"update","class":"Recipe","key":"bread","insert":{"steps":["Let it rise"]}}' | sluice write ws://127.0.0.1:9080/kitchen"#,
            #"echo '{"op":"delete","class":"Car","key":"JT2"}' | sluice write ws://127.0.0.1:9080/cars"#,
        ])

    /// The number of lines whose objects are fetched at once.
    private static let groupSize = 256
    /// The number of lines after which acknowledged objects are removed from memory.
    private static let purgeInterval = 8_192

    private let access: ServerAccess

    init(_ arguments: ParsedArguments) throws(CommandError) {
        access = try ServerAccess(arguments)
    }

    func run() async throws {
        Signals.onTermination {
            Diagnostics.report("interrupted; the last lines may not be written")
            _exit(EXIT_FAILURE)
        }
        let store = try await access.open(.readWrite)
        let rejected = RejectedWrites()
        rejected.observe(store)
        do {
            let input = StandardInput()
            var sincePurge = 0
            while let lines = try await input.next() {
                for start in stride(from: 0, to: lines.count, by: Self.groupSize) {
                    try await write(lines[start..<min(start + Self.groupSize, lines.count)], to: store)
                }
                sincePurge += lines.count
                if sincePurge >= Self.purgeInterval {
                    sincePurge = 0
                    try await store.uploaded(timeout: access.timeout)
                    try await store.purgeUnsubscribed()
                }
            }
        } catch let error as CommandError {
            // Lines before the one at fault stay written, so they must be uploaded before the program ends.
            do { try await store.uploaded(timeout: access.timeout) } catch {
                Diagnostics.report("lines before the one at fault may be lost: \(CommandError(error).message)")
            }
            throw error
        }
        try await store.uploaded(timeout: access.timeout)
        await store.close()
        try rejected.check()
    }

    private func write(_ lines: ArraySlice<StandardInput.Line>, to store: Store) async throws {
        let parser = WriteRequestParser(schema: store.schema)
        var requests: [(line: Int, request: WriteRequest)] = []
        var fault: (any Error)?
        for line in lines {
            do throws(WriteRequestError) {
                requests.append((line.number, try parser.parse(line.text)))
            } catch {
                fault = CommandError.failure("stdin:\(line.number): \(error.message)")
                break
            }
        }
        let identities = try await TargetFetcher(store: store, timeout: access.timeout).fetch(requests.map(\.request))
        for (line, request) in requests {
            do {
                try await store.write { try request.perform(identities, in: $0) }
            } catch {
                throw CommandError.failure("stdin:\(line): \(CommandError(error).message)")
            }
        }
        if let fault { throw fault }
    }
}
