import Sluice

/// M2: what is done to one list of a thousand elements without a server, one transaction each. The time runs from
/// connecting until the server has acknowledged everything as durable.
struct ListBacklogRow {
    private let workbench: Workbench
    private let count: Int
    private static let length = 1_000

    init(_ workbench: Workbench) {
        self.workbench = workbench
        count = workbench.options.size(100_000, quick: 400)
    }

    func measure() async throws -> [Measurement] {
        let runs = try await workbench.repeated { _ in (ours: try await run(count), floor: try await run(count / 4)) }
        return [
            Measurement(
                .listEdits, "upload of \(Double(count).shown) edits of a list of \(Self.length)",
                ours: runs.map(\.ours), floor: runs.map(\.floor), unit: "s", goal: .atMost(1))
        ]
    }

    private func run(_ count: Int) async throws -> Double {
        try await workbench.withServer { url in
            let path = workbench.freshPath("writer")
            let written = try await writeOffline(path, count)
            let seconds = try await workbench.seconds {
                let store = try await workbench.openStore("writer", models: [Sheet.self], path: path, url: url)
                try await store.uploaded(timeout: .seconds(600))
                await store.close()
            }
            let reader = try await workbench.openStore("reader", models: [Sheet.self], url: url)
            let sheets = try await reader.objects(Sheet.self).synced(timeout: .seconds(60))
            try check(sheets.map(\.lines), is: [written], "the list")
            await reader.close()
            return seconds
        }
    }

    /// Fills the outbox of a store whose server is a port at which nobody listens.
    ///
    /// - Returns: the list at the end.
    private func writeOffline(_ path: String, _ count: Int) async throws -> [String] {
        let store = try await workbench.openStore(
            "writer", models: [Sheet.self], path: path, url: "ws://127.0.0.1:1/bench")
        let sheet = Sheet.of(Self.length)
        try await store.write { try $0.insert(sheet) }
        for number in 0..<count {
            let random = Mixer.mix(number)
            let (first, second) = (Int((random >> 8) % 999), Int((random >> 32) % 999))
            try await store.write { transaction in
                // In turns, so that the list stays as long as it is.
                switch number % 3 {
                case 0: try transaction.insert(sheet, \.lines, "\(number)", at: first)
                case 1: try transaction.move(sheet, \.lines, from: first, to: second)
                default: try transaction.remove(sheet, \.lines, at: first)
                }
            }
        }
        let lines = try store.objects(Sheet.self).fetch().first?.lines ?? []
        await store.close()
        return lines
    }
}
