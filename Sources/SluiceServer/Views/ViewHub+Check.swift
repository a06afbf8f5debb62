#if SLUICE_CHECK
    internal import SluiceModel
    internal import SluiceStorage
    internal import SluiceViews

    extension ViewHub {
        /// Compares every view, what it has reported of a commit, and its places in the index with the oracle. A
        /// difference is logged as an error; without a log, it ends the process.
        ///
        /// - Parameters:
        ///   - deltas: what the views that were found have reported.
        ///   - failed: the views that could not follow, which are about to be given up.
        func check(
            after commit: CommitDelta, reporting deltas: [ObjectIdentifier: ViewDelta], except failed: [SharedView]
        ) {
            let failed = Set(failed.map(ObjectIdentifier.init))
            let storage = database.storage
            do {
                let check = ViewCheck(commit, in: storage, schema: storage.schema)
                var problems = index.problems()
                for view in all where !failed.contains(ObjectIdentifier(view)) {
                    problems += try check.problems(of: view.live, reporting: deltas[ObjectIdentifier(view.live)])
                }
                for problem in problems { fail("version \(commit.version): \(problem)") }
            } catch  where storage.damage == nil {
                fail("the views could not be checked: \(error)")
            } catch {}
        }

        private func fail(_ problem: String) {
            guard database.isLogged else { preconditionFailure(problem) }
            database.note(.error, "a view is wrong", [("problem", problem)])
        }
    }
#endif
