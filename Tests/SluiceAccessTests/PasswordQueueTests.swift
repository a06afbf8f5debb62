import SluiceAccess
import SluiceModel
import TestSupport
import Testing

/// Which password is checked next. A check takes one round of both workers.
struct PasswordQueueTests {
    private struct Try: Hashable {
        var number: Int
        var isRight = false
    }

    /// A queue with its two workers. In each round, each ends its check and begins another one.
    private struct Desk {
        var queue: PasswordQueue<Try>
        var inTurn: Try?
        var ahead: (ticket: PasswordQueue<Try>.Ticket, content: Try)?
        var round = 0
        /// When each try was answered, and how.
        var answers: [Int: (round: Int, answer: PasswordAnswer)] = [:]
        var checkCount = 0

        init(countMax: Int = 64) { queue = PasswordQueue(countMax: countMax) }

        mutating func add(_ content: Try, isUser: Bool) {
            for displaced in queue.add(content, isUser: isUser) { answer(displaced, .displaced) }
        }

        mutating func answer(_ content: Try, _ answer: PasswordAnswer) {
            if let earlier = answers[content.number] {
                Issue.record("\(content) was answered \(earlier.answer), and then \(answer)")
            }
            answers[content.number] = (round, answer)
        }

        mutating func begin() {
            if inTurn == nil, let next = queue.next() {
                inTurn = next.content
                checkCount += 1
            }
            if ahead == nil, let next = queue.nextAhead() {
                ahead = next
                checkCount += 1
            }
        }

        mutating func endRound() {
            begin()
            round += 1
            if let done = ahead {
                ahead = nil
                if let answer = queue.finishAhead(done.ticket, isRight: done.content.isRight) {
                    self.answer(done.content, answer)
                }
            }
            if let done = inTurn {
                inTurn = nil
                if let answer = queue.finish(isRight: done.isRight) { self.answer(done, answer) }
            }
            begin()
        }

        mutating func finish() { while queue.count > 0 || ahead != nil { endRound() } }
    }

    @Test(arguments: [15, 60, 240]) func aUserWaitsForNoMadeUpNamesHoweverMany(count: Int) {
        var desk = Desk(countMax: 500)
        for number in 1...count { desk.add(Try(number: number), isUser: false) }
        desk.endRound()
        desk.add(Try(number: 0, isRight: true), isUser: true)
        let begin = desk.round
        desk.finish()
        #expect(desk.answers[0]?.answer == .right)
        #expect((desk.answers[0]?.round ?? .max) - begin <= 1)
        #expect(desk.answers.count == count + 1)
    }

    /// An attacker who keeps the line as long as it likes sees the same rounds and answers for a name that is a user's
    /// and one that is not, for its own tries and for those beside them.
    @Test(arguments: 0..<200) func aWrongPasswordIsAnsweredAtTheSameTimeWhetherTheNameIsAUsersOrNot(seed: Int) {
        func answers(isUser: Bool) -> [String] {
            var generator = SeededGenerator(seed: UInt64(seed))
            var desk = Desk(countMax: Int.random(in: 4...30, using: &generator))
            var number = 0
            func addSome(_ desk: inout Desk) {
                // Fewer in a round than the line holds: see the threat model.
                for _ in 0..<Int.random(in: 0...3, using: &generator) {
                    number += 1
                    desk.add(Try(number: number), isUser: false)
                }
            }
            for _ in 0..<Int.random(in: 0...6, using: &generator) {
                addSome(&desk)
                desk.endRound()
            }
            addSome(&desk)
            desk.add(Try(number: 0), isUser: isUser)
            for _ in 0..<10 {
                addSome(&desk)
                desk.endRound()
            }
            desk.finish()
            return desk.answers.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value.answer) \($0.value.round)" }
        }
        #expect(answers(isUser: true) == answers(isUser: false), "seed \(seed)")
    }

    @Test func whatNobodyWaitsForLeavesTheLineUnchecked() {
        var desk = Desk()
        for number in 1...50 { desk.add(Try(number: number), isUser: number % 2 == 0) }
        let removed = desk.queue.removeAll { $0.number > 5 }
        #expect(removed.count == 45 && removed.allSatisfy { $0.answer == .abandoned })
        desk.finish()
        #expect(Set(desk.answers.keys) == Set(1...5))
        // Those of users are checked ahead, and once more in their turn.
        #expect(desk.checkCount <= 7)
    }

    @Test(arguments: 0..<100) func eachIsAnsweredOnceAndUsersWhoAreRightAreLetInAndTheLineIsBounded(seed: Int) {
        var generator = SeededGenerator(seed: UInt64(seed))
        var desk = Desk(countMax: 8)
        var users: Set<Int> = []
        var removed: Set<Int> = []
        var count = 0
        for _ in 0..<200 {
            switch Int.random(in: 0..<10, using: &generator) {
            case 0...5:
                count += 1
                let isUser = Int.random(in: 0..<3, using: &generator) == 0
                let isRight = isUser && Bool.random(using: &generator)
                if isRight { users.insert(count) }
                desk.add(Try(number: count, isRight: isRight), isUser: isUser)
            case 6:
                let gone = Int.random(in: 1...max(1, count), using: &generator)
                for (content, _) in desk.queue.removeAll(where: { $0.number == gone }) {
                    removed.insert(content.number)
                }
            default: desk.endRound()
            }
            #expect(desk.queue.count <= 2 * 8 + 1)
        }
        desk.finish()
        #expect(removed.isDisjoint(with: desk.answers.keys))
        #expect(desk.answers.count + removed.count == count)
        for number in users.subtracting(removed) {
            let answer = desk.answers[number]?.answer
            #expect(answer == .right || answer == .displaced, "\(number)")
        }
        for (number, answer) in desk.answers where answer.answer == .right { #expect(users.contains(number)) }
    }
}
