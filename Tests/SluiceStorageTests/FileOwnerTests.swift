import Glibc
import Testing

@testable import SluiceStorage

struct FileOwnerTests {
    @Test func whatRootMakesInAFolderOfSomebodyElseBelongsToThem() throws {
        guard geteuid() == 0 else { return }
        let folder = try TemporaryFolder()
        let path = folder.file("data")
        try #require(mkdir(path, 0o700) == 0 && chown(path, 65_534, 65_534) == 0)
        let users = try UserFile(path + "/" + UserFile.name)
        users.close()
        var status = stat()
        #expect(stat(path + "/" + UserFile.name, &status) == 0 && status.st_uid == 65_534 && status.st_gid == 65_534)
        // The lock of a database, as of one that a command deletes.
        withExtendedLifetime(try FileLock(at: path + "/old.lock")) {}
        #expect(stat(path + "/old.lock", &status) == 0 && status.st_uid == 65_534 && status.st_gid == 65_534)
        // What is there stays whose it is.
        chown(path + "/old.lock", 1, 1)
        close(FileOwner.open(path + "/old.lock", O_WRONLY))
        #expect(stat(path + "/old.lock", &status) == 0 && status.st_uid == 1 && status.st_gid == 1)
        // A link may lead anywhere, and is not followed.
        let target = folder.file("target")
        close(creat(target, 0o600))
        symlink(target, path + "/link")
        FileOwner.adopt(path + "/link")
        #expect(stat(target, &status) == 0 && status.st_uid == 0)
        // One that leads to where there is nothing yet is followed, and what is made stays root's.
        symlink(folder.file("later"), path + "/later")
        let file = FileOwner.open(path + "/later", O_WRONLY)
        #expect(file >= 0 && stat(folder.file("later"), &status) == 0 && status.st_uid == 0)
        close(file)
    }
}
