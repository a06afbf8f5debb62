import Sluice

/// R8: commits that change one view, which thousands of connections subscribe to, one commit after the other. With
/// `--peers` also beside what other servers do.
/// W1: the same, to connections in the JSON form.
struct FanOutRow {
    let workbench: Workbench

    init(_ workbench: Workbench) { self.workbench = workbench }

    func measure() async throws -> [Measurement] {
        Descriptors.raiseLimit()
        let count = workbench.options.size(10_000, quick: 500)
        let roundCount = workbench.options.size(20, quick: 5)
        let pairs = try await workbench.repeated { _ in
            let (ours, byteCount) = try await broadcast(to: count, rounds: roundCount)
            return (ours: ours, floor: try rawRate(to: count, rounds: roundCount, byteCount: byteCount), byteCount)
        }
        return [
            Measurement(
                .fanOut, "a commit of \(pairs[0].2) bytes to \(Double(count).shown) connections",
                ours: pairs.map(\.ours), floor: pairs.map(\.floor), unit: "messages/s", goal: .ratioAtLeast(0.9))
        ] + (try await besidePeers(rounds: roundCount))
    }

    func measureJSON() async throws -> [Measurement] {
        Descriptors.raiseLimit()
        let count = workbench.options.size(10_000, quick: 500)
        let roundCount = workbench.options.size(20, quick: 5)
        let runs = try await workbench.repeated { _ in
            let (ours, byteCount) = try await broadcast(to: count, rounds: roundCount, .json)
            let (frames, _) = try await broadcast(to: count, rounds: roundCount)
            let floor = try rawRate(to: count, rounds: roundCount, byteCount: byteCount)
            return (ours: ours, floor: floor, frames: frames, byteCount)
        }
        let name = "a commit as \(runs[0].3) bytes of JSON to \(Double(count).shown) connections"
        return [
            Measurement(
                .webFanOut, name, ours: runs.map(\.ours), floor: runs.map(\.floor), unit: "messages/s",
                goal: .ratioAtLeast(0.6)),
            Measurement(
                .webFanOut, "the time for each, beside a connection that is sent frames",
                ours: runs.map { 1e9 / $0.ours }, floor: runs.map { 1e9 / $0.frames }, unit: "ns",
                goal: .ratioAtMost(2.5)),
        ]
    }

    /// - Returns: messages a second, and the length of one in bytes.
    func broadcast(
        to count: Int, rounds: Int, _ form: ReaderProcess.Form = .frames
    ) async throws -> (Double, Int) {
        try await workbench.withServer { url in
            let store = try await workbench.openStore("writer", models: [Car.self], url: url)
            let cars = Car.numbered(0..<10)
            try await store.insert(cars)
            let port = url.split(separator: ":")[2].split(separator: "/")[0]
            let readers = try ReaderProcess(port: UInt16(port) ?? 0, count: count, form)
            defer { readers.stop() }
            try readers.waitUntilReady()
            var nanoseconds: UInt64 = 0
            var byteCount = 0
            for round in 0..<rounds {
                let start = ReaderProcess.now
                try await store.write { transaction in
                    try transaction.update(cars[round % cars.count]) { $0.price = Double(round) + 0.5 }
                }
                let result = try readers.waitForRound()
                nanoseconds += result.finishedAt - start
                byteCount = result.byteCount / count
                try check(result.byteCount % count, is: 0, "the rest of bytes that not every reader received")
            }
            await store.close()
            return (Double(count * rounds) / (Double(nanoseconds) / 1e9), byteCount)
        }
    }

    private func rawRate(to count: Int, rounds: Int, byteCount: Int) throws -> Double {
        let server = try RawBroadcast()
        let readers = try ReaderProcess(port: server.port, count: count, .raw)
        defer { readers.stop() }
        try server.accept(count)
        try readers.waitUntilReady()
        let frame = RawBroadcast.frame(ofLength: byteCount)
        var nanoseconds: UInt64 = 0
        for _ in 0..<rounds {
            let start = ReaderProcess.now
            try server.send(frame)
            let result = try readers.waitForRound()
            nanoseconds += result.finishedAt - start
            try check(result.byteCount, is: byteCount * count, "the bytes that all readers received")
        }
        return Double(count * rounds) / (Double(nanoseconds) / 1e9)
    }
}

extension RawBroadcast {
    /// A WebSocket frame of a length, its header included, so that readers count it as they count ours.
    fileprivate static func frame(ofLength length: Int) -> [UInt8] {
        let isShort = length - 2 < 126
        let count = length - (isShort ? 2 : 4)
        let header: [UInt8] = isShort ? [0x82, UInt8(count)] : [0x82, 126, UInt8(count >> 8), UInt8(count & 0xFF)]
        return header + [UInt8](repeating: 7, count: count)
    }
}
