/// What becomes of a try to log in by password.
package enum PasswordAnswer: Hashable, Sendable {
    case right, wrong
    /// It lost its place, since too many came after it.
    case displaced
    /// Nobody waited for it any more, and it was not made.
    case abandoned
}

/// The passwords that wait to be checked, and which comes next. It has no threads and no clock.
///
/// All wait in one line, and one worker checks the first and answers it. Another worker checks users' tries ahead of
/// their turn and answers only those that are right: so a user waits for no made-up names, however many there are. A
/// try that is wrong is answered in its turn, when it is checked once more. So what an answer to a wrong password takes
/// does not depend on whether the name is a user's.
package struct PasswordQueue<Try> {
    /// Names a try while it is being checked.
    package struct Ticket: Hashable, Sendable {
        fileprivate let number: UInt64
    }

    private struct Entry {
        enum Ahead {
            case untried, running, wrong
        }

        let ticket: Ticket
        let content: Try
        let isUser: Bool
        var ahead = Ahead.untried
        /// Whether it has lost its place in the line, and waits only for the check ahead of it.
        var isDisplaced = false

        /// Whether it may be the right one, and nobody has looked.
        var isOpen: Bool { isUser && ahead != .wrong }
    }

    private let countMax: Int
    /// Those that wait, in the order of their arrival.
    private var line: [Entry] = []
    /// The one that is being checked in its turn; nil if none is, or it was answered meanwhile.
    private var current: Entry?
    private var isBusy = false
    private var lastNumber: UInt64 = 0

    /// - Parameter countMax: how many wait in the line; and how many users' may wait for the check ahead.
    package init(countMax: Int) { self.countMax = countMax }

    package var count: Int { line.count + (isBusy ? 1 : 0) }

    /// Adds a try at the end of the line.
    ///
    /// - Returns: the tries that lose their places, and are told that the server is busy.
    package mutating func add(_ content: Try, isUser: Bool) -> [Try] {
        guard !isUser || line.count(where: \.isOpen) < countMax else { return [content] }
        lastNumber += 1
        line.append(Entry(ticket: Ticket(number: lastNumber), content: content, isUser: isUser))
        guard line.count(where: { !$0.isDisplaced }) > countMax, let first = line.firstIndex(where: { !$0.isDisplaced })
        else { return [] }
        // The one that has waited longest; so how long one waits does not depend on its name.
        guard line[first].isOpen else { return [line.remove(at: first).content] }
        line[first].isDisplaced = true
        return []
    }

    /// Removes tries whose answers nobody waits for any more. One that is being checked goes on.
    ///
    /// - Returns: the tries, and what became of them.
    package mutating func removeAll(where isAbandoned: (Try) -> Bool) -> [(content: Try, answer: PasswordAnswer)] {
        let isRemoved = { (entry: Entry) in entry.ahead != .running && isAbandoned(entry.content) }
        let removed = line.filter(isRemoved)
        guard !removed.isEmpty else { return [] }
        line.removeAll(where: isRemoved)
        return removed.map { ($0.content, $0.ahead == .untried ? .abandoned : .wrong) }
    }

    // MARK: In turn

    /// Begins to check the first of the line; nil if there is none, or one is being checked in its turn.
    package mutating func next() -> (ticket: Ticket, content: Try)? {
        guard !isBusy, let first = line.firstIndex(where: { !$0.isDisplaced }) else { return nil }
        let entry = line.remove(at: first)
        (current, isBusy) = (entry, true)
        return (entry.ticket, entry.content)
    }

    /// Ends the check of the one whose turn it was.
    ///
    /// - Returns: its answer; nil if it was answered meanwhile.
    package mutating func finish(isRight: Bool) -> PasswordAnswer? {
        defer { (current, isBusy) = (nil, false) }
        guard current != nil else { return nil }
        return isRight ? .right : .wrong
    }

    // MARK: Ahead of the turn

    /// Begins to check a user's try ahead of its turn; nil if there is none.
    package mutating func nextAhead() -> (ticket: Ticket, content: Try)? {
        // The first of the line has its turn at once where nobody else has.
        let first = isBusy ? nil : line.firstIndex { !$0.isDisplaced }
        let place = line.indices.first { $0 != first && line[$0].isUser && line[$0].ahead == .untried }
        guard let place else { return nil }
        line[place].ahead = .running
        return (line[place].ticket, line[place].content)
    }

    /// Ends a check ahead of its turn.
    ///
    /// - Returns: the answer; nil if it is given later, or was given.
    package mutating func finishAhead(_ ticket: Ticket, isRight: Bool) -> PasswordAnswer? {
        if current?.ticket == ticket {
            guard isRight else { return nil }
            current = nil
            return .right
        }
        guard let place = line.firstIndex(where: { $0.ticket == ticket }) else { return nil }
        line[place].ahead = .wrong
        guard isRight || line[place].isDisplaced else { return nil }
        line.remove(at: place)
        return isRight ? .right : .displaced
    }
}
