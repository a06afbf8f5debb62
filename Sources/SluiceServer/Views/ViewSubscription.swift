internal import SluiceModel
internal import SluiceWire

/// One session's subscription to a shared view.
final class ViewSubscription {
    let id: UInt64
    let subscriber: Subscriber
    let view: SharedView
    private var progress: Progress?
    /// Its position among the subscriptions of the view, which the view keeps.
    var place: UInt32 = 0

    init(id: UInt64, subscriber: Subscriber, view: SharedView) {
        self.id = id
        self.subscriber = subscriber
        self.view = view
    }

    /// What is left to do. An object, since most subscriptions are complete and then have none.
    private final class Progress {
        var pages: PageSource?
        var comparison: Comparison?
    }

    /// Where the subscription gets what it lacks; nil once it is complete.
    var pages: PageSource? {
        get { progress?.pages }
        set { change { $0.pages = newValue } }
    }

    /// The comparison of members, while the client lists them.
    var comparison: Comparison? {
        get { progress?.comparison }
        set { change { $0.comparison = newValue } }
    }

    private func change(_ body: (Progress) -> Void) {
        let progress = progress ?? Progress()
        body(progress)
        let wasComplete = isComplete
        self.progress = progress.pages == nil && progress.comparison == nil ? nil : progress
        guard isComplete != wasComplete else { return }
        view.noteCompletion()
        subscriber.noteCompletion(of: self)
    }

    var session: SessionID { subscriber.session }

    var isComplete: Bool { progress == nil }

    /// Its place in a run of shared pages, if it takes such pages.
    var receiver: PageReceiver? { if case .shared(let receiver)? = pages { receiver } else { nil } }

    /// What remains to be read of the view.
    var remaining: Bootstrap? {
        switch pages {
        case .shared(let receiver): receiver.run.remaining
        case .own(let run): run.remaining
        case nil: nil
        }
    }

    /// How many roots are listed that remain to be read.
    var listedRootCount: Int {
        switch pages {
        case .shared(let receiver): receiver.run.remaining.listedRootCount
        case .own(let run): run.remaining.listedRootCount
        case nil: 0
        }
    }

    /// Whether the server could send a page now.
    var canTakePage: Bool {
        guard subscriber.pageCredit > 0 else { return false }
        switch pages {
        case .shared(let receiver):
            let run = receiver.run
            return receiver.next < run.pages.count || run.remaining.isReadable && !run.isReading
        case .own(let run): return run.hasPage || run.remaining.isReadable && !run.isReading
        case nil: return false
        }
    }

    /// Whether its next page is one that must be read from the database, and beside the writer where that is possible.
    func needsReading(_ limits: DatabaseLimits) -> Bool {
        switch pages {
        case .shared(let receiver):
            receiver.next == receiver.run.pages.count && receiver.run.remaining.needsReading(limits)
        case .own(let run): !run.hasPage && run.remaining.needsReading(limits)
        case nil: false
        }
    }

    /// Whether further pages may be read already, since fewer than so many wait for credit.
    func mayReadAhead(_ countMax: Int, _ limits: DatabaseLimits) -> Bool {
        switch pages {
        case .shared(let receiver):
            receiver.run.pages.count < receiver.next + countMax && receiver.run.remaining.needsReading(limits)
        case .own(let run): run.mayReadAhead(countMax, limits)
        case nil: false
        }
    }

    /// How many objects commits have touched behind the pages.
    var touchedCount: Int {
        switch pages {
        case .shared(let receiver): receiver.run.touchedCount
        case .own(let run): run.remaining.touched.count
        case nil: 0
        }
    }

    /// How many members the client has listed, or was asked to list, while they count.
    var announcedCount: Int { comparison?.announcedCount ?? remaining?.announcedCount ?? 0 }

    /// Records objects that a commit has changed behind pages of its own.
    func touch(_ objects: Set<ObjectRef>) {
        if case .own(let run)? = pages { run.touch(objects) }
    }

    /// Continues with the roots that were listed.
    func list(_ roots: [ObjectRef]) {
        switch pages {
        case .shared(let receiver): receiver.run.list(roots)
        case .own(let run): run.remaining.list(roots)
        case nil: break
        }
    }

    /// The message that ends the subscription alone.
    func failure(_ code: ErrorCode, _ message: String) -> ServerMessage {
        .subscriptionError(
            .init(session: session.session, subscription: id, code: code, message: message, position: nil))
    }
}
