/// A server of another kind that does what a row measures, as near as it can. It syncs each write before it answers.
protocol Peer: Sendable {
    /// The name, for people.
    var name: String { get }
    /// From what to what a write travels, for people.
    var path: String { get }
    /// The ways in which R4 commits to it, each for a line.
    var commitForms: [CommitForm] { get }
    /// How many connections can follow a commit at once.
    var readerMax: Int { get }
    /// The goals for our time in R3 and for our rate in R4, of the peer's.
    var goals: (propagation: Measurement.Goal, commits: Measurement.Goal) { get }

    /// Makes a place for cars that nobody has used, with cars whose views are zero.
    func makeCars(_ count: Int) throws -> any PeerCars

    /// Commits changes that many connections follow, one commit after the other.
    ///
    /// - Returns: messages a second, from the call of each write until the last connection has it.
    func fanOut(to readerCount: Int, rounds: Int) async throws -> Double
}

/// One way of committing.
struct CommitForm {
    /// How many connections commit at once.
    var writerCount = 1
    /// How many commits of a connection may wait for an answer.
    var unansweredMax = 1
    /// Whether each commit tells B; otherwise B hears of all when the last is durable.
    var tellsEach = true

    /// The form in words.
    var text: String {
        let connections = writerCount == 1 ? "1 connection" : "\(writerCount) connections at once"
        let answers = unansweredMax == 1 ? "" : ", \(unansweredMax) unanswered"
        return connections + answers + (tellsEach ? "" : ", B told at the end")
    }
}

/// Cars at a peer, by number.
protocol PeerCars: Sendable {
    /// Opens a connection that writes.
    ///
    /// - Parameter tellsEach: whether each of its commits tells those who follow the cars.
    func writer(tellsEach: Bool) throws -> any PeerWriter

    /// Opens a connection, and follows the cars on a thread of its own until a writer ends it.
    ///
    /// - Parameter note: called with each change that arrives: the car's number, and its views.
    func observe(_ note: @escaping @Sendable (_ car: Int, _ views: Int) -> Void) throws -> PeerObserver
}

/// A connection that writes. One thread at a time uses it.
protocol PeerWriter: Sendable {
    /// Commits each number as the views of a car, one after the other, and returns when all are durable.
    ///
    /// - Parameters:
    ///   - numbers: the views, each of which belongs to the car of this number modulo the number of cars.
    ///   - unansweredMax: how many commits may wait for an answer.
    func write(_ numbers: StrideThrough<Int>, unansweredMax: Int) throws

    /// Tells all that follow the cars of each car.
    func tellOfAll() throws

    /// Ends all that follow the cars.
    func endObservers() throws
}

extension PeerCars {
    /// Opens a connection that writes, each of whose commits tells those who follow the cars.
    func writer() throws -> any PeerWriter { try writer(tellsEach: true) }
}

extension PeerWriter {
    /// Commits one number, and returns when it is durable.
    func write(_ number: Int) throws { try write(stride(from: number, through: number, by: 1), unansweredMax: 1) }
}
