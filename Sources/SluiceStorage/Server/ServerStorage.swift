/// One database of a server.
package protocol ServerStorage: JournaledStorage, ClientRecords, JobRecords, StorageUpkeep, TrialStorage {}
