import SluiceBackend

/// What jobs are given.
@Model struct Reading {
    @PrimaryKey var id: Int
    var value = 0
}

/// What the job beside a store derives.
@Model struct OuterCopy {
    @PrimaryKey var id: Int
    var value = 0
}

/// What the job in the server's process derives.
@Model struct InnerCopy {
    @PrimaryKey var id: Int
    var value = 0
}

/// What a batch has handled: the key and the version of each object. Nothing is found twice.
@Model struct Tally {
    var job = ""
    var states: [Int] = []
    var isReset = false
}

extension Tally {
    init(_ batch: ConsumerBatch<Reading>, of job: String) {
        self.init(
            job: job, states: batch.upserts.map { $0.value.id << 32 | Int($0.version) }, isReset: batch.isReset)
    }
}

/// A row of a queue.
@Model struct Work {
    @PrimaryKey var id: Int
    var isDone = false
}

/// What is written with the end of a row's claim. Nothing is found twice.
@Model struct Effect {
    var work = 0
}

enum World {
    static let models: [any Model.Type] = [
        Reading.self, OuterCopy.self, InnerCopy.self, Tally.self, Work.self, Effect.self,
    ]
    static let name = "kills"
    static let queue = "work"
}
