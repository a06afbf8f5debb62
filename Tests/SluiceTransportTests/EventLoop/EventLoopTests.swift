import SluiceModel
import Synchronization
import TestSupport
import Testing

@testable import SluiceTransport

@Suite struct EventLoopTests {
    @Test func timersFireInOrderOfTheirDeadlines() {
        var generator = SeededGenerator(seed: 3)
        var queue = TimerQueue()
        var fired: [Int64] = []
        var expected: [Int64] = []
        var ids: [UInt64] = []
        for _ in 0..<1_000 {
            let deadline = Int64.random(in: 0..<10_000, using: &generator)
            let id = queue.add(deadline: deadline) { fired.append(deadline) }
            if Int.random(in: 0..<4, using: &generator) == 0 { ids.append(id) } else { expected.append(deadline) }
        }
        for id in ids { queue.remove(id) }
        while let action = queue.takeDue(now: 5_000) { action() }
        #expect(fired == expected.filter { $0 <= 5_000 }.sorted())
        while let action = queue.takeDue(now: .max) { action() }
        #expect(fired == expected.sorted())
        #expect(queue.nextDeadline() == nil)
    }

    @Test func closuresRunOnTheLoopInOrder() async throws {
        let loop = try EventLoop()
        let numbers = Observed<[Int]>([])
        #expect(!loop.isCurrent)
        for number in 0..<1_000 {
            loop.execute { numbers.update { $0.append(loop.isCurrent ? number : -1) } }
        }
        let seen = try await numbers.wait(for: "all closures") { $0.count == 1_000 }
        #expect(seen == Array(0..<1_000))
        loop.stop()
        loop.execute { numbers.update { $0.append(-2) } }
        #expect(numbers.value.count == 1_000)
    }

    /// Notes who has it flush. Sound as `Sendable`: what it has is.
    private final class Flushed: PollHandler, @unchecked Sendable {
        let loop: EventLoop
        /// For each flush whether the loop was borrowed.
        let borrowed = Observed<[Bool]>([])

        init(_ loop: EventLoop) { self.loop = loop }

        override func flush() { borrowed.update { [loop] in $0.append(!loop.isCurrent) } }

        override func flushWhileAsleep() -> Bool {
            flush()
            return true
        }
    }

    @Test func aSleepingLoopIsBorrowedAFewTimesAndThenWoken() async throws {
        let loop = try EventLoop()
        defer { loop.stop() }
        let handler = Flushed(loop)
        for count in 1...1_000 {
            loop.scheduleFlush(handler)
            try await handler.borrowed.wait(for: "flush \(count)") { $0.count == count }
        }
        let runs = handler.borrowed.value.split(separator: false).map(\.count)
        #expect((1...4).contains(runs.max() ?? 0))
    }

    @Test func aLoopThatIsTurnedByHandIsNotBorrowed() throws {
        let loop = try EventLoop(hasThread: false)
        let handler = Flushed(loop)
        loop.turn(waits: false)
        loop.scheduleFlush(handler)
        #expect(handler.borrowed.value.isEmpty)
        loop.turn(waits: false)
        #expect(handler.borrowed.value == [true])
    }

    @Test func groupGivesLoopsInTurn() throws {
        let group = try EventLoopGroup(loopCount: 3)
        defer { group.stop() }
        let loops = (0..<6).map { _ in ObjectIdentifier(group.next()) }
        #expect(Set(loops).count == 3)
        #expect(loops[..<3] == loops[3...])
    }
}

@Suite struct SendQueueTests {
    @Test(arguments: 0..<50 as Range<UInt64>)
    func bytesLeaveInOrderWhateverTheKernelTakes(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var queue = SendQueue()
        var expected: [UInt8] = []
        var taken: [UInt8] = []
        for _ in 0..<500 {
            if Bool.random(using: &generator) {
                let bytes = generator.bytes(Int.random(in: 0...30, using: &generator))
                queue.append(SharedBuffer(bytes))
                expected += bytes
            }
            let available = queue.prefix(.max).flatMap { Array($0.bytes) }
            #expect(available.count == queue.byteCount, "seed \(seed)")
            let count = Int.random(in: 0...min(available.count, 25), using: &generator)
            taken += available[..<count]
            queue.consume(count)
        }
        taken += queue.prefix(.max).flatMap { Array($0.bytes) }
        #expect(taken == expected, "seed \(seed)")
    }
}
