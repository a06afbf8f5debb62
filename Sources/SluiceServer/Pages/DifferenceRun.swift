internal import SluiceModel
internal import SluiceViews
internal import SluiceWire

/// The pages for one client that has members: what of the view differs from those that it has listed.
///
/// A page that was read beside the writer is sent without the objects that commits have changed since: a client may hold
/// a later state of one from another subscription. These are settled at the end, as they are then.
final class DifferenceRun {
    /// A page that was read beside the writer and waits to be sent.
    private struct Waiting {
        let page: DifferencePage
        /// Its objects that commits have changed, or moved in the view, since its reading was begun.
        var changed: Set<ObjectRef>
    }

    /// What remains to be read.
    var remaining: RemainingPages
    private var waiting: [Waiting] = []
    /// The objects that commits have changed, or moved in the view, while pages are being read; nil while none are.
    private var changedMeanwhile: Set<ObjectRef>?
    /// The classes of which a change may concern an object in a page.
    private var classes: Set<Int> = []

    init(_ bootstrap: RemainingPages) { remaining = bootstrap }

    var isReading: Bool { changedMeanwhile != nil }

    /// Whether a page waits to be sent.
    var hasPage: Bool { !waiting.isEmpty }

    /// Whether further pages may be read already, since fewer than so many wait for credit.
    func mayReadAhead(_ countMax: Int, _ limits: DatabaseLimits) -> Bool {
        !isReading && waiting.count < countMax && remaining.needsReading(limits)
    }

    /// Whether the client has everything once it has what was sent.
    var isComplete: Bool { !hasPage && !isReading && remaining.isComplete }

    /// Begins to read the next pages beside the writer, as the database and the view are now.
    func beginReading(_ live: LiveView, countMax: Int, _ limits: DatabaseLimits) -> DifferenceReading {
        changedMeanwhile = []
        classes = Set(live.shape.concernedProperties.keys)
        return DifferenceReading(of: live.copyForReading(), remaining.takeReading(), countMax: countMax, limits)
    }

    /// Takes the pages that were read beside the writer.
    func finish(_ reading: DifferenceReading) {
        guard let changed = changedMeanwhile, let remaining = reading.takeRemaining() else { return }
        changedMeanwhile = nil
        self.remaining.goOn(from: remaining)
        waiting += reading.pages.map { page in
            Waiting(page: page, changed: changed.isEmpty ? [] : changed.intersection(page.objects))
        }
    }

    /// Removes and returns the page that waits, without what commits have changed since; nil if none waits.
    func takePage() -> EncodedPage? {
        guard !waiting.isEmpty else { return nil }
        let first = waiting.removeFirst()
        guard !first.changed.isEmpty else { return first.page.encoded }
        touch(first.changed)
        return first.page.without(first.changed)
    }

    /// Records objects whose place or content in the view a commit has changed. A page on its way is sent without them:
    /// one may have left the view because of what others say, and its reader must not see it any more.
    func touch(_ objects: Set<ObjectRef>) {
        remaining.touched.formUnion(objects)
        changedMeanwhile?.formUnion(objects)
        for index in waiting.indices {
            waiting[index].changed.formUnion(objects.intersection(waiting[index].page.objects))
        }
    }

    /// Records what a commit has changed in any way while pages are on their way.
    func noteChanges(_ commit: CommitDelta) {
        guard isReading || !waiting.isEmpty else { return }
        for change in commit.changes {
            if classes.contains(change.object.classIndex) { changedMeanwhile?.insert(change.object) }
            for index in waiting.indices where waiting[index].page.objects.contains(change.object) {
                waiting[index].changed.insert(change.object)
            }
        }
    }
}
