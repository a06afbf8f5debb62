import Sluice

/// R9: commits that change one view, which a hundred connections subscribe to and one of them stops reading. The others
/// should be told as fast as they are where all read.
///
/// What the stalled one is sent is more than its socket and the server's take, so that most of it waits in the server.
struct StalledReaderRow {
    private static let textByteCount = 8_192

    private let workbench: Workbench

    init(_ workbench: Workbench) { self.workbench = workbench }

    func measure() async throws -> [Measurement] {
        let count = 100
        let roundCount = workbench.options.size(3_000, quick: 200)
        let pairs = try await workbench.repeated { _ in
            let floor = try await rate(to: count, stalled: 0, rounds: roundCount)
            return (ours: try await rate(to: count, stalled: 1, rounds: roundCount), floor: floor)
        }
        return [
            Measurement(
                .stalledReader, "commits of 8 KiB until \(count - 1) readers have each, beside 1 that stalls",
                ours: pairs.map(\.ours), floor: pairs.map(\.floor), unit: "commits/s", goal: .ratioAtLeast(0.97))
        ]
    }

    /// - Returns: commits a second, each made once all readers that read have the last one.
    private func rate(to count: Int, stalled stalledCount: Int, rounds: Int) async throws -> Double {
        try await workbench.withServer { url in
            let store = try await workbench.openStore("writer", models: [Car.self], url: url)
            let car = Car.numbered(0)
            try await store.insert([car])
            let port = url.split(separator: ":")[2].split(separator: "/")[0]
            let readers = try ReaderProcess(
                port: UInt16(port) ?? 0, count: count, .frames, stalledCount: stalledCount)
            defer { readers.stop() }
            try readers.waitUntilReady()
            let start = ReaderProcess.now
            for round in 0..<rounds {
                try await store.write { transaction in try transaction.update(car) { $0.name = Self.text(round) } }
                let result = try readers.waitForRound()
                let least = (count - stalledCount) * Self.textByteCount
                try check(result.byteCount >= least, is: true, "that all readers received the whole text")
            }
            let nanoseconds = ReaderProcess.now - start
            await store.close()
            return Double(rounds) / (Double(nanoseconds) / 1e9)
        }
    }

    /// A text that does not become shorter when it is compressed.
    private static func text(_ round: Int) -> String {
        let bytes = (0..<textByteCount / 8).flatMap { word in
            let mixed = Mixer.mix(round &* textByteCount &+ word)
            return (0..<8).map { UInt8(32 + mixed >> ($0 * 8) & 63) }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
