internal import SluiceJSON

/// What queries had cost when a server was asked.
struct TopSample: Sendable {
    /// The costs of one query, since its view was made.
    struct Cost: Hashable, Sendable {
        var database = ""
        var query = ""
        var hash = ""
        var subscriberCount: Int64 = 0
        /// Nil where counting would take too long.
        var rowCount: Int64?
        var foundCount: Int64 = 0
        var changedCount: Int64 = 0
        var sentByteCount: Int64 = 0
        /// Microseconds.
        var applyingTime: Int64 = 0
        var bootstrapCount: Int64 = 0
        /// Microseconds.
        var bootstrapTime: Int64 = 0
        /// When the database said so, in seconds of a clock that only goes forward.
        var time = 0.0
        /// In how many seconds the counts have come about; nil since the query's view was made.
        var seconds: Double?
    }

    var costs: [Cost] = []
    /// How many live queries each database has, including those that it did not name.
    private var viewCounts: [String: Int64] = [:]
    var viewCount: Int64 { viewCounts.values.reduce(0, +) }
    /// The databases that were too busy to answer.
    var silent: [String] = []

    init() {}

    /// Reads the server's reports, one for each database.
    ///
    /// - Parameter time: when the server was asked, in seconds of a clock that only goes forward.
    /// - Throws: ``CommandError`` when a report is none of costs.
    init(_ reports: [JSONValue], at time: Double = 0) throws(CommandError) {
        for report in reports {
            if let database = report["database"]?.string, report["answers"] == .bool(false) {
                silent.append(database)
                continue
            }
            guard let database = report["database"]?.string, let queries = report["queries"]?.array else {
                throw .failure("the server's answer is no report of costs")
            }
            viewCounts[database] = Self.number(report["views"])
            costs += queries.map { Cost($0, of: database, at: time) }
        }
    }

    fileprivate static func number(_ value: JSONValue?) -> Int64 {
        if case .integer(let number)? = value { number } else { 0 }
    }

    /// The sample with what an earlier one says of the databases that have not answered: nothing has been added there as
    /// far as is known. When they answer again, what they say is of the time since then.
    func completed(by earlier: TopSample) -> TopSample {
        var sample = self
        sample.costs += earlier.costs.filter { silent.contains($0.database) }
        for database in silent { sample.viewCounts[database] = earlier.viewCounts[database] }
        return sample
    }

    /// What has been added since an earlier sample, the costliest query first. A query whose view was made meanwhile
    /// counts from its beginning.
    func since(_ earlier: TopSample) -> TopSample {
        let before = Dictionary(earlier.costs.map { ($0.id, $0) }) { first, _ in first }
        var difference = self
        for index in costs.indices {
            guard let old = before[costs[index].id], old.foundCount <= costs[index].foundCount else { continue }
            difference.costs[index].seconds = costs[index].time - old.time
            difference.costs[index].foundCount -= old.foundCount
            difference.costs[index].changedCount -= old.changedCount
            difference.costs[index].sentByteCount -= old.sentByteCount
            difference.costs[index].applyingTime -= old.applyingTime
            difference.costs[index].bootstrapCount -= old.bootstrapCount
            difference.costs[index].bootstrapTime -= old.bootstrapTime
        }
        difference.costs.sort { ($0.applyingTime, $0.sentByteCount) > ($1.applyingTime, $1.sentByteCount) }
        return difference
    }
}

extension TopSample.Cost {
    fileprivate init(_ report: JSONValue, of database: String, at time: Double) {
        self.init()
        self.time = time
        func number(_ name: String) -> Int64 { TopSample.number(report[name]) }
        self.database = database
        query = report["query"]?.string ?? ""
        hash = report["hash"]?.string ?? ""
        subscriberCount = number("subscribers")
        rowCount = if case .integer(let count)? = report["rows"] { count } else { nil }
        foundCount = number("found")
        changedCount = number("changed")
        sentByteCount = number("sentBytes")
        applyingTime = number("applyingMicroseconds")
        bootstrapCount = number("bootstraps")
        bootstrapTime = number("bootstrapMicroseconds")
    }

    var id: String { "\(database)/\(hash)" }
}
